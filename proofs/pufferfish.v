(** * What a guarantee says

    Two distributions are (e, d) alike if no event tells them apart by more than a factor [exp e] and a rest [d]. A
    mechanism keeps a class of models private if, under each model, the distributions of its output given the two
    secrets of every pair are alike. Reading on the output (post-processing) does not change that. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Alike.
Variable R : realType.
Implicit Types (e d : R).

Definition alike (U : finType) e d (p q : dist R U) := forall B : pred U, pr p B <= expR e * pr q B + d.

(** Enough for [d = 0]: the masses of single outputs. *)
Lemma alike_masses (U : finType) e (p q : dist R U) :
  (forall u, p u <= expR e * q u) -> alike e 0 p q.
Proof. by move=> le B; rewrite addr0 /pr mulr_sumr; apply: ler_sum => u _. Qed.

Lemma masses_alike (U : finType) e (p q : dist R U) u : alike e 0 p q -> p u <= expR e * q u.
Proof. by move=> /(_ (pred1 u)); rewrite addr0 /pr !big_pred1_eq. Qed.

Lemma alike_refl (U : finType) e d (p : dist R U) : 0 <= e -> 0 <= d -> alike e d p p.
Proof.
move=> e0 d0 B; rewrite ler_paddr // ler_pemull ?pr_ge0 //.
by rewrite -expR0 ler_expR.
Qed.

Lemma alike_weaken (U : finType) e e' d d' (p q : dist R U) :
  e <= e' -> d <= d' -> alike e d p q -> alike e' d' p q.
Proof.
move=> le_e le_d ok B; apply: le_trans (ok B) _; apply: ler_add => //.
by rewrite ler_wpmul2r ?pr_ge0 // ler_expR.
Qed.

(** A mixture of pairs that are alike is a pair that is alike: [T] chooses the pair, with the same chances on both
    sides. *)
Lemma alike_bind (T U : finType) e d (p : dist R T) (k l : T -> dist R U) :
  (forall x, alike e d (k x) (l x)) -> alike e d (bind p k) (bind p l).
Proof.
move=> ok B; rewrite !pr_bind mulr_sumr -[d]mul1r -(mass_sum p) mulr_suml -big_split /=.
apply: ler_sum => x _; rewrite mulrCA -mulrDr.
by apply: ler_wpmul2l; [exact: mass_ge0 | exact: ok].
Qed.

(** Sets as secrets: mixtures with weights of their own on either side, if every member of the one is alike every member
    of the other. *)
Theorem alike_sets (S T U : finType) e d (v : dist R S) (w : dist R T) (p : S -> dist R U) (q : T -> dist R U) :
  (forall s t, alike e d (p s) (q t)) -> alike e d (bind v p) (bind w q).
Proof.
move=> ok B; have one t : pr (bind v p) B <= expR e * pr (q t) B + d.
  rewrite pr_bind -[X in _ <= X]mul1r -(mass_sum v) mulr_suml; apply: ler_sum => s _.
  by apply: ler_wpmul2l; [exact: mass_ge0 | exact: ok].
rewrite -[X in X <= _]mul1r -[X in X * _](mass_sum w) mulr_suml (pr_bind w) mulr_sumr.
rewrite -[X in _ <= _ + X]mul1r -[X in _ <= _ + X * _](mass_sum w) mulr_suml -big_split /=; apply: ler_sum => t _.
by rewrite mulrCA -mulrDr; apply: ler_wpmul2l; [exact: mass_ge0 | exact: one].
Qed.

(** Events to weights: what holds for the chances of events holds for means of functions between 0 and 1. *)
Lemma alike_means (U : finType) e d (p q : dist R U) (w : U -> R) :
  alike e d p q -> (forall u, 0 <= w u <= 1) -> \sum_u p u * w u <= expR e * (\sum_u q u * w u) + d.
Proof.
move=> ok w01; pose B := [pred u | expR e * q u <= p u].
have -> : expR e * (\sum_u q u * w u) + d = \sum_u expR e * q u * w u + d.
  by rewrite mulr_sumr; congr (_ + _); apply: eq_bigr => u _; rewrite mulrA.
rewrite -ler_subl_addl -sumrB.
apply: le_trans (_ : pr p B - expR e * pr q B <= d); last by rewrite ler_subl_addl.
rewrite /pr mulr_sumr -sumrB big_mkcond /= [X in _ <= X]big_mkcond /=.
apply: ler_sum => u _; have /andP[w0 w1] := w01 u.
rewrite -mulrBl; case: ifP => [le|/negbT].
  by rewrite ler_pimulr // subr_ge0.
rewrite -ltNge => lt; rewrite mulr_le0_ge0 // subr_le0; exact: ltW.
Qed.

(** Post-processing: whatever is made of the output, by chance too, without looking at the table again. *)
Theorem post_processing (U V : finType) e d (p q : dist R U) (k : U -> dist R V) :
  alike e d p q -> alike e d (bind p k) (bind q k).
Proof.
move=> ok B; rewrite !pr_bind; apply: alike_means => // u.
by rewrite pr_ge0 pr_le1.
Qed.

(** Laws that stand for others: [ga] and [gb] are (e, d) alike, [fa] is close to [ga], and [gb] to [fb], with a
    relaxation [l] and a rest [h]. The rest of the second closeness is multiplied by [exp (e + l)]; a published theorem
    leaves that out ([counterexamples.wrong_stand_ins]). *)
Theorem alike_stand_ins (U : finType) e d l h (fa ga gb fb : dist R U) :
  alike l h fa ga -> alike e d ga gb -> alike l h gb fb ->
  alike (e + 2%:R * l) ((1 + expR (e + l)) * h + expR l * d) fa fb.
Proof.
move=> a ab b B; apply: le_trans (a B) _; apply: le_trans (_ : expR l * (expR e * (expR l * pr fb B + h) + d) + h <= _).
  rewrite ler_add2r ler_pmul2l ?expR_gt0 //; apply: le_trans (ab B) _.
  by rewrite ler_add2r ler_pmul2l ?expR_gt0 //; exact: b.
rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite mulr_natl mulr2n addrA !expRD !mulrDr !mulrDl mul1r.
rewrite !mulrA [expR l * expR e]mulrC -!addrA; congr (_ + _).
by rewrite [RHS]addrC -!addrA; congr (_ + _); rewrite addrC.
Qed.

End Alike.

Section Pufferfish.
Variable R : realType.
Variables (M : Type) (T : finType) (S : finType).

(** Each model [m] of the class says how tables are distributed given a secret. [possible m s] is false where a secret
    is impossible under the model: nothing is asked there. *)
Variable given : M -> S -> dist R T.
Variable possible : M -> S -> bool.
Variable pairs : S -> S -> bool.

(** A mechanism: a distribution of the output for every table. *)
Definition pufferfish (U : finType) (e d : R) (mechanism : T -> dist R U) :=
  forall (m : M) (s s' : S), pairs s s' -> possible m s -> possible m s' ->
    alike e d (bind (given m s) mechanism) (bind (given m s') mechanism).

Lemma bind_bind (U V : finType) (p : dist R T) (k : T -> dist R U) (l : U -> dist R V) v :
  bind (bind p k) l v = bind p (fun x => bind (k x) l) v.
Proof.
rewrite /= (eq_bigr (fun u => \sum_x p x * k x u * l u v)); last first.
  by move=> u _; rewrite mulr_suml.
rewrite exchange_big /=; apply: eq_bigr => x _.
by rewrite mulr_sumr; apply: eq_bigr => u _; rewrite mulrA.
Qed.

Theorem pufferfish_post_processing (U V : finType) e d (mechanism : T -> dist R U) (k : U -> dist R V) :
  pufferfish e d mechanism -> pufferfish e d (fun x => bind (mechanism x) k).
Proof.
move=> ok m s s' ss' ms ms' B.
have := post_processing k (ok m s s' ss' ms ms') B.
by rewrite /pr !(eq_bigr _ (fun v _ => bind_bind _ _ _ v)).
Qed.

End Pufferfish.
