(** * Private tables: trim

    The count [g] of a class is made noisy, [G = g + z], and [G - c] records of the class and [n - G - c] others are
    handed on, drawn at random; where that is impossible, an empty table. [sub G] is the distribution of a table of so
    many records of either side: it does not depend on [g] ([sampled] below). The mechanism is (e, d)-private for
    secrets at most [k] apart, with [d] the chance that the noise is beyond [c - k]. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish noise.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Trim.
Variable R : realType.
Variable h : int -> R.
Hypothesis h0 : forall z, 0 <= h z.

Variable c : nat.

(** The whole numbers from [- c] to [c], by their place, and the chance that the noise is at most [w]. *)
Definition step (i : 'I_(2 * c).+1) : int := i%:Z - c%:Z.
Definition within (w : nat) : R := \sum_(i | (`|step i| <= w)%N) h (step i).

(** The chance of an event: [events G] is its chance under tables made from the noisy count [G], [empty] is whether the
    empty table is in it. *)
Definition trimmed (events : int -> R) (empty : bool) (g : int) : R :=
  \sum_i h (step i) * events (g + step i) + (1 - within c) * empty%:R.

Lemma step_le i : (`|step i| <= c)%N.
Proof.
rewrite -lez_nat abszE ler_norml /step ler_subr_addl subrr ler_subl_addl -PoszD /=.
by rewrite lez_nat addnn -mul2n -ltnS.
Qed.

Lemma stepE (z : int) : (`|z| <= c)%N -> exists i, step i = z.
Proof.
move=> zc; have /andP[low high] : - c%:Z <= z <= c%:Z by rewrite -ler_norml -abszE lez_nat.
have z0 : 0 <= z + c%:Z by rewrite -ler_subl_addr sub0r.
exists (inord `|z + c%:Z|); rewrite /step inordK ?gez0_abs ?addrK //.
by rewrite ltnS -lez_nat gez0_abs // mul2n -addnn PoszD ler_add2r.
Qed.

Lemma step_inj : injective step.
Proof. by move=> i j /addIr [] /val_inj. Qed.

Theorem trim (k : nat) (e : R) (g g' : int) (events : int -> R) (empty : bool) :
  (k <= c)%N -> (`|g - g'| <= k)%N -> within c <= 1 ->
  (forall z z', (`|z - z'| <= k)%N -> h z <= expR e * h z') -> (forall G, 0 <= events G <= 1) -> 0 <= e ->
  trimmed events empty g <= expR e * trimmed events empty g' + (1 - within (c - k)).
Proof.
move=> kc near all noise ev e0.
pose A := [set i | (`|step i| <= c - k)%N].
pose move_ i := odflt i [pick j | step j == step i + (g - g')].
have moveE i : i \in A -> step (move_ i) = step i + (g - g').
  rewrite inE /move_ => iA; case: pickP => [j /eqP //|none].
  have [|j ji] := @stepE (step i + (g - g')); last by have := none j; rewrite ji eqxx.
  have := leq_add_dist (step i) 0 (g' - g); rewrite opprB subr0 add0r => le.
  by apply: leq_trans le _; rewrite -(subnK kc); apply: leq_add.
have back i : i \in A ->
    h (step i) * events (g + step i) <= expR e * (h (step (move_ i)) * events (g' + step (move_ i))).
  move=> iA; have -> : g + step i = g' + step (move_ i) by rewrite (moveE _ iA) addrCA [g' + _]addrC subrK addrC.
  rewrite mulrA; apply: ler_wpmul2r; first by have /andP[] := ev (g' + step (move_ i)).
  by apply: noise; rewrite (moveE _ iA) opprD addrA subrr sub0r abszN.
have ge0 j : 0 <= h (step j) * events (g' + step j) by rewrite mulr_ge0 //; have /andP[] := ev (g' + step j).
have inner : \sum_(i in A) h (step i) * events (g + step i) <= expR e * \sum_j h (step j) * events (g' + step j).
  apply: le_trans (ler_sum _ back) _; rewrite -mulr_sumr ler_pmul2l ?expR_gt0 //.
  rewrite -(big_imset (fun j => h (step j) * events (g' + step j))) /=; last first.
    by move=> i j iA jA same; apply: step_inj; apply: (addIr (g - g')); rewrite -!moveE // same.
  by rewrite [X in _ <= X](bigID (mem (move_ @: A))) /= ler_addl; apply: sumr_ge0 => j _.
have withinE : within (c - k) = \sum_(i in A) h (step i) by apply: eq_bigl => i; rewrite inE.
have all_in : within c = \sum_i h (step i) by apply: eq_bigl => i; rewrite step_le.
rewrite /trimmed (bigID (mem A)) /= mulrDr -addrA; apply: le_trans (ler_add inner _) _.
  exact: lexx.
rewrite -addrA ler_add2l.
apply: le_trans (_ : \sum_(i | i \notin A) h (step i) + (1 - within c) <= _).
  apply: ler_add.
    by apply: ler_sum => i _; apply: ler_pimulr => //; have /andP[] := ev (g + step i).
  by apply: ler_pimulr; [rewrite subr_ge0 | rewrite lern1 leq_b1].
have -> : \sum_(i | i \notin A) h (step i) + (1 - within c) = 1 - within (c - k).
  by rewrite all_in withinE [X in 1 - X](bigID (mem A)) /= addrCA opprD [X in _ + X]addrCA subrr addr0.
rewrite ler_addr; apply: mulr_ge0; first exact/ltW/expR_gt0.
by apply: mulr_ge0; [rewrite subr_ge0 | exact: ler0n].
Qed.

(** The same with noise that is drawn given that it is at most [c]: there is no empty table, and what is lost lies on
    one side of zero only, beyond [c - k] towards the other count. *)
Definition beyond (k : nat) (up : bool) : R := \sum_(i | (c%:Z - k%:Z < if up then step i else - step i)) h (step i).

Theorem trim_conditioned (k : nat) (e : R) (g g' : int) (events : int -> R) :
  (`|g - g'| <= k)%N ->
  (forall z z', (`|z| <= c)%N -> (`|z'| <= c)%N -> (`|z - z'| <= k)%N -> h z <= expR e * h z') ->
  (forall G, 0 <= events G <= 1) ->
  \sum_i h (step i) * events (g + step i) <=
  expR e * (\sum_i h (step i) * events (g' + step i)) + beyond k (g' <= g).
Proof.
move=> near noise ev.
pose A := [set i | (`|(step i + (g - g'))%R| <= c)%N].
pose move_ i := odflt i [pick j | step j == step i + (g - g')].
have moveE i : i \in A -> step (move_ i) = step i + (g - g').
  rewrite inE /move_ => iA; case: pickP => [j /eqP //|none].
  by have [j ji] := stepE iA; have := none j; rewrite ji eqxx.
have back i : i \in A ->
    h (step i) * events (g + step i) <= expR e * (h (step (move_ i)) * events (g' + step (move_ i))).
  move=> iA; have -> : g + step i = g' + step (move_ i) by rewrite (moveE _ iA) addrCA [g' + _]addrC subrK addrC.
  rewrite mulrA; apply: ler_wpmul2r; first by have /andP[] := ev (g' + step (move_ i)).
  by apply: noise; rewrite ?step_le // (moveE _ iA) opprD addrA subrr sub0r abszN.
have ge0 j : 0 <= h (step j) * events (g' + step j) by rewrite mulr_ge0 //; have /andP[] := ev (g' + step j).
have inner : \sum_(i in A) h (step i) * events (g + step i) <= expR e * \sum_j h (step j) * events (g' + step j).
  apply: le_trans (ler_sum _ back) _; rewrite -mulr_sumr ler_pmul2l ?expR_gt0 //.
  rewrite -(big_imset (fun j => h (step j) * events (g' + step j))) /=; last first.
    by move=> i j iA jA same; apply: step_inj; apply: (addIr (g - g')); rewrite -!moveE // same.
  by rewrite [X in _ <= X](bigID (mem (move_ @: A))) /= ler_addl; apply: sumr_ge0 => j _.
rewrite (bigID (mem A)) /=; apply: ler_add inner _.
rewrite /beyond big_mkcond [X in _ <= X]big_mkcond /=; apply: ler_sum => i _.
have le1 : h (step i) * events (g + step i) <= h (step i) by apply: ler_pimulr => //; have /andP[] := ev (g + step i).
case: ifP => [out|_]; last by case: ifP => _.
rewrite ifT //; move: out; rewrite inE -ltnNge -ltz_nat abszE => out.
have small : `|step i| <= c%:Z by rewrite -abszE lez_nat step_le.
have near' : `|g - g'| <= k%:Z by rewrite -abszE lez_nat.
move: small near'; rewrite !ler_norml => /andP[low high] /andP[low' high'].
move: out; case: ifP => [up|/negbT]; last rewrite -ltNge => down.
  rewrite ltr_normr => /orP[out|].
    by rewrite ltr_subl_addr; apply: lt_le_trans out _; rewrite ler_add2l.
  rewrite ltNge opprD -[c%:Z]addr0; case/negP; apply: ler_add; first by rewrite ler_oppl.
  by rewrite oppr_le0 subr_ge0.
rewrite ltr_normr => /orP[|out].
  rewrite ltNge -[c%:Z]addr0; case/negP; apply: ler_add => //.
  by rewrite subr_le0 ltW.
by rewrite ltr_subl_addr; apply: lt_le_trans out _; rewrite opprD ler_add2l ler_oppl.
Qed.

End Trim.
