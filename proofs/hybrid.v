(** * Private tables: single records too

    A computation that is [eps_d] differentially private for single records runs on a table made from a noisy count.
    For the secret it is post-processing. For single records: replacing one moves the count by at most 1, and given
    the noisy count the two tables that are handed on can be coupled so that they differ in at most two records. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish wasserstein clipped.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** A coupling that moves nothing far: what holds for every two tables that it pairs holds for the mixtures. *)
Lemma coupled (R : realType) (T U : finType) (f g : dist R T) (near : rel T) (c : dist R [finType of T * T]) e d
    (m : T -> dist R U) :
  coupling f g c -> moved_far near c = 0 -> (forall x y, near x y -> alike e d (m x) (m y)) ->
  alike e d (bind f m) (bind g m).
Proof.
move=> cc far0 ok B; rewrite !pr_bind (sum_first _ cc) (sum_second _ cc) mulr_sumr -[d]mul1r -(mass_sum c) mulr_suml.
rewrite -big_split; apply: ler_sum => -[x y] _ /=; rewrite mulrCA -mulrDr.
case: (boolP (near x y)) => [/ok le|far]; first by apply: ler_wpmul2l; [exact: mass_ge0 | exact: le].
move/eqP: far0; rewrite /moved_far /pr psumr_eq0 => [/allP/(_ (x, y))|z _]; last exact: mass_ge0.
by rewrite mem_index_enum /= => /(_ isT); rewrite far /= => /eqP->; rewrite !mul0r.
Qed.

Section Hybrid.
Variable R : realType.
Variables (n : nat) (V U : finType).
Notation table := {ffun 'I_n -> V}.
Implicit Types (x y : table).

Definition apart x y : nat := #|[pred j | x j != y j]|.

(** Differentially private, replacing one record. *)
Definition private eps_d (m : table -> dist R U) :=
  forall x y, (apart x y <= 1)%N -> forall u, m x u <= expR eps_d * m y u.

(** A table between two tables that differ. *)
Lemma between k x y : (apart x y <= k.+1)%N -> exists z, (apart x z <= 1)%N /\ (apart z y <= k)%N.
Proof.
move=> xy; case: (pickP [pred j | x j != y j]) => [j /= xj|same]; last first.
  exists x; have -> : x = y by apply/ffunP => j; have /negbFE/eqP := same j.
  by rewrite /apart eq_card0 // => j; rewrite !inE eqxx.
pose z : table := [ffun i => if i == j then y j else x i]; exists z; split.
  rewrite -(card1 j); apply: subset_leq_card; apply/subsetP => i; rewrite !inE ffunE.
  by case: (i == j); rewrite ?eqxx.
rewrite -ltnS; apply: leq_trans xy; rewrite [X in (_ < X)%N](cardD1 j) !inE xj add1n ltnS.
apply: subset_leq_card; apply/subsetP => i; rewrite !inE ffunE.
by case: (i =P j) => [->|_]; rewrite ?eqxx.
Qed.

(** Tables that differ in two records are two steps apart. *)
Lemma private_steps eps_d (m : table -> dist R U) k x y u :
  0 <= eps_d -> private eps_d m -> (apart x y <= k)%N -> m x u <= expR (k%:R * eps_d) * m y u.
Proof.
move=> e0 ok; elim: k x => [|k IH] x.
  rewrite leqn0 /apart => /eqP/card0_eq same; rewrite mul0r expR0 mul1r.
  by have -> // : x = y by apply/ffunP => j; have := same j; rewrite !inE => /negbFE/eqP.
move=> /between[z [xz zy]].
apply: le_trans (ok _ _ xz u) _; rewrite -[k.+1]add1n natrD mulrDl mul1r expRD -mulrA ler_pmul2l ?expR_gt0 //.
exact: IH.
Qed.

(** The same with a delta: of two steps, the delta of the second is multiplied by the factor of the first. *)
Definition private_delta eps_d d (m : table -> dist R U) :=
  forall x y, (apart x y <= 1)%N -> alike eps_d d (m x) (m y).

Lemma private_delta_two eps_d d (m : table -> dist R U) x y : private_delta eps_d d m -> (apart x y <= 2)%N ->
  alike (2%:R * eps_d) (d * (1 + expR eps_d)) (m x) (m y).
Proof.
move=> ok /between[z [xz zy]] B; apply: le_trans (ok _ _ xz B) _.
apply: le_trans (_ : expR eps_d * (expR eps_d * pr (m y) B + d) + d <= _).
  by rewrite ler_add2r ler_pmul2l ?expR_gt0 //; exact: ok.
by rewrite mulr_natl mulr2n expRD mulrDr mulrA mulrDr mulr1 [d * _]mulrC [d + _]addrC addrA.
Qed.

(** [p] and [p'] are the distributions of the noisy count before and after a record was replaced, [t] and [t'] those of
    the tables that are handed on given the noisy count. *)
Variable C : finType.
Variables (p p' : dist R C) (t t' : C -> dist R [finType of table]) (m : table -> dist R U).

Theorem hybrid_records (eps_d eps_count : R) (c : C -> dist R [finType of table * table]) :
  0 <= eps_d -> private eps_d m -> (forall G, p G <= expR eps_count * p' G) ->
  (forall G, coupling (t G) (t' G) (c G)) -> (forall G, moved_far [rel x y | apart x y <= 2]%N (c G) = 0) ->
  alike (2%:R * eps_d + eps_count) 0 (bind p (fun G => bind (t G) m)) (bind p' (fun G => bind (t' G) m)).
Proof.
move=> e0 ok count couple near; apply: alike_masses => u /=.
rewrite mulr_sumr; apply: ler_sum => G _; rewrite expRD.
apply: le_trans (_ : p G * (expR (2%:R * eps_d) * bind (t' G) m u) <= _).
  apply: ler_wpmul2l; first exact: mass_ge0.
  apply: (wasserstein_pure (m := fun x => m x u) (couple G) (near G)) => [x|x y /= xy]; first exact: mass_ge0.
  exact: private_steps xy.
rewrite mulrCA -[X in _ <= X]mulrA ler_pmul2l ?expR_gt0 // mulrA; apply: ler_wpmul2r (count G).
by apply: sumr_ge0 => x _; rewrite mulr_ge0 ?mass_ge0.
Qed.

(** With deltas: [out] are the noisy counts that are out of reach after the record was replaced. In trimmed tables they
    have a chance [d_count] beforehand, in the other forms there are none. *)
Theorem hybrid_records_delta (eps_d d eps_count d_count : R) (out : pred C)
    (c : C -> dist R [finType of table * table]) :
  0 <= d -> private_delta eps_d d m -> (forall G, ~~ out G -> p G <= expR eps_count * p' G) -> pr p out <= d_count ->
  (forall G, ~~ out G -> coupling (t G) (t' G) (c G)) ->
  (forall G, ~~ out G -> moved_far [rel x y | apart x y <= 2]%N (c G) = 0) ->
  alike (2%:R * eps_d + eps_count) (d_count + d * (1 + expR eps_d))
    (bind p (fun G => bind (t G) m)) (bind p' (fun G => bind (t' G) m)).
Proof.
move=> d0 ok count unreachable couple near B; pose D := d * (1 + expR eps_d).
have D0 : 0 <= D by apply: mulr_ge0 => //; apply: addr_ge0; [exact: ler01 | exact/ltW/expR_gt0].
have one G : ~~ out G -> pr (bind (t G) m) B <= expR (2%:R * eps_d) * pr (bind (t' G) m) B + D.
  move=> reach; apply: coupled (couple _ reach) (near _ reach) _ B => x y xy; exact: private_delta_two.
rewrite !pr_bind (bigID out) /= addrC [d_count + _]addrC addrA; apply: ler_add; last first.
  apply: le_trans unreachable; apply: ler_sum => G _; apply: ler_pimulr; [exact: mass_ge0 | exact: pr_le1].
apply: le_trans (_ : \sum_(G | ~~ out G)
  (expR (2%:R * eps_d + eps_count) * (p' G * pr (bind (t' G) m) B) + p G * D) <= _).
  apply: ler_sum => G reach.
  apply: le_trans (ler_wpmul2l (mass_ge0 p G) (one G reach)) _; rewrite mulrDr ler_add2r expRD mulrCA -mulrA.
  rewrite ler_pmul2l ?expR_gt0 // mulrA; apply: ler_wpmul2r (count G reach); exact: pr_ge0.
rewrite big_split /= -mulr_sumr -mulr_suml; apply: ler_add.
  rewrite ler_pmul2l ?expR_gt0 // [X in _ <= X](bigID out) /= ler_addr; apply: sumr_ge0 => G _.
  by rewrite mulr_ge0 ?mass_ge0 ?pr_ge0.
by apply: ler_pimull => //; exact: (pr_le1 p (fun G => ~~ out G)).
Qed.

(** Nothing is shown but answers, and given the same noise the tables differ in one record at most: the cost is that of
    the answers. *)
Theorem hybrid_answers (eps_d d : R) (c : C -> dist R [finType of table * table]) :
  private_delta eps_d d m -> (forall z, coupling (t z) (t' z) (c z)) ->
  (forall z, moved_far [rel x y | apart x y <= 1]%N (c z) = 0) ->
  alike eps_d d (bind p (fun z => bind (t z) m)) (bind p (fun z => bind (t' z) m)).
Proof.
move=> ok couple near; apply: alike_bind => z; apply: coupled (couple z) (near z) _ => x y; exact: ok.
Qed.

(** For the secret: whatever the computation is. *)
Theorem hybrid_secret (eps : R) :
  alike eps 0 (bind p t) (bind p' t') -> alike eps 0 (bind (bind p t) m) (bind (bind p' t') m).
Proof. exact: post_processing. Qed.

End Hybrid.

(** With the noise of shift and fill, of scale [k / eps], a count that moves by 1 costs [eps / k] ([b = k / eps]). *)
Corollary hybrid_count (R : realType) (n : nat) (b : R) (b0 : 0 < b) (g g' : 'I_n.+2) :
  (`|g%:Z - g'%:Z| <= 1)%N -> forall G, clipped b0 g G <= expR b^-1 * clipped b0 g' G.
Proof. by move=> near G; have := clipped_near b0 G near; rewrite mul1r. Qed.
