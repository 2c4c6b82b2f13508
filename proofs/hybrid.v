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

Section Hybrid.
Variable R : realType.
Variables (n : nat) (V U : finType).
Notation table := {ffun 'I_n -> V}.
Implicit Types (x y : table).

Definition apart x y : nat := #|[pred j | x j != y j]|.

(** Differentially private, replacing one record. *)
Definition private eps_d (m : table -> dist R U) :=
  forall x y, (apart x y <= 1)%N -> forall u, m x u <= expR eps_d * m y u.

(** Tables that differ in two records are two steps apart. *)
Lemma private_steps eps_d (m : table -> dist R U) k x y u :
  0 <= eps_d -> private eps_d m -> (apart x y <= k)%N -> m x u <= expR (k%:R * eps_d) * m y u.
Proof.
move=> e0 ok; elim: k x => [|k IH] x.
  rewrite leqn0 /apart => /eqP/card0_eq same; rewrite mul0r expR0 mul1r.
  by have -> // : x = y by apply/ffunP => j; have := same j; rewrite !inE => /negbFE/eqP.
move=> xy; case: (pickP [pred j | x j != y j]) => [j /= xj|same]; last first.
  have -> : x = y by apply/ffunP => j; have /negbFE/eqP := same j.
  by rewrite ler_pemull ?mass_ge0 // -[X in X <= _](@expR0 R) ler_expR mulr_ge0 ?ler0n //.
pose z : table := [ffun i => if i == j then y j else x i].
have xz : (apart x z <= 1)%N.
  rewrite -(card1 j); apply: subset_leq_card; apply/subsetP => i; rewrite !inE ffunE.
  by case: (i == j); rewrite ?eqxx.
have zy : (apart z y <= k)%N.
  rewrite -ltnS; apply: leq_trans xy; rewrite [X in (_ < X)%N](cardD1 j) !inE xj add1n ltnS.
  apply: subset_leq_card; apply/subsetP => i; rewrite !inE ffunE.
  by case: (i =P j) => [->|_]; rewrite ?eqxx.
apply: le_trans (ok _ _ xz u) _; rewrite -[k.+1]add1n natrD mulrDl mul1r expRD -mulrA ler_pmul2l ?expR_gt0 //.
exact: IH.
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

(** For the secret: whatever the computation is. *)
Theorem hybrid_secret (eps : R) :
  alike eps 0 (bind p t) (bind p' t') -> alike eps 0 (bind (bind p t) m) (bind (bind p' t') m).
Proof. exact: post_processing. Qed.

End Hybrid.

(** With the noise of shift and fill, of scale [k / eps], a count that moves by 1 costs [eps / k] ([b = k / eps]). *)
Corollary hybrid_count (R : realType) (n : nat) (b : R) (b0 : 0 < b) (g g' : 'I_n.+2) :
  (`|g%:Z - g'%:Z| <= 1)%N -> forall G, clipped b0 g G <= expR b^-1 * clipped b0 g' G.
Proof. by move=> near G; have := clipped_near b0 G near; rewrite mul1r. Qed.
