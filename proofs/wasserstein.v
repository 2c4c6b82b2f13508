(** * The Wasserstein mechanism

    Two distributions of the answer, given the two secrets of a pair, and a coupling of them: a distribution on pairs of
    answers that has them as its margins. If it moves answers by at most [W], but for a mass of at most [d], then noise
    under which answers [W] apart are [e] alike makes the outputs (e, d) alike. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish noise.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Wasserstein.
Variable R : realType.
Variable T : finType.
Variables f g : dist R T.

Definition coupling (c : dist R [finType of T * T]) :=
  (forall x, \sum_y c (x, y) = f x) /\ (forall y, \sum_x c (x, y) = g y).

(** The chance that a coupling moves an answer further than [near] allows. *)
Definition moved_far (near : rel T) (c : dist R [finType of T * T]) :=
  pr c [pred z | ~~ near z.1 z.2].

Lemma sum_first (c : dist R [finType of T * T]) (h : T -> R) :
  coupling c -> \sum_x f x * h x = \sum_z c z * h z.1.
Proof.
move=> [first _]; rewrite (eq_bigr (fun z => c (z.1, z.2) * h z.1)); last by case.
rewrite -(pair_bigA _ (fun x y => c (x, y) * h x)) /=.
by apply: eq_bigr => x _; rewrite -mulr_suml first.
Qed.

Lemma sum_second (c : dist R [finType of T * T]) (h : T -> R) :
  coupling c -> \sum_y g y * h y = \sum_z c z * h z.2.
Proof.
move=> [_ second]; rewrite (eq_bigr (fun z => c (z.1, z.2) * h z.2)); last by case.
rewrite -(pair_bigA _ (fun x y => c (x, y) * h y)) /= exchange_big /=.
by apply: eq_bigr => y _; rewrite -mulr_suml second.
Qed.

(** Pure: every output mass. Outputs may be infinitely many, as the whole numbers are. *)
Theorem wasserstein_pure (near : rel T) (c : dist R [finType of T * T]) e (m : T -> R) :
  coupling c -> moved_far near c = 0 -> (forall x, 0 <= m x) -> (forall x y, near x y -> m x <= expR e * m y) ->
  \sum_x f x * m x <= expR e * \sum_y g y * m y.
Proof.
move=> cc far0 m0 ok; rewrite (sum_first _ cc) (sum_second _ cc) mulr_sumr; apply: ler_sum => -[x y] _ /=.
rewrite mulrCA; case: (boolP (near x y)) => [/ok le|far].
  by apply: ler_wpmul2l => //; exact: mass_ge0.
move/eqP: far0; rewrite /moved_far /pr psumr_eq0 => [/allP/(_ (x, y))|z _]; last exact: mass_ge0.
by rewrite mem_index_enum /= => /(_ isT); rewrite far /= => /eqP->; rewrite !mul0r.
Qed.

(** Approximate: events of finitely many outputs. *)
Theorem wasserstein_approximate (U : finType) (near : rel T) (c : dist R [finType of T * T]) e d (m : T -> dist R U) :
  coupling c -> moved_far near c <= d -> (forall x y, near x y -> alike e 0 (m x) (m y)) ->
  alike e d (bind f m) (bind g m).
Proof.
move=> cc far ok B; rewrite !pr_bind (sum_first _ cc) (sum_second _ cc).
apply: le_trans (ler_add (lexx _) far); rewrite mulr_sumr /moved_far [X in _ + X]big_mkcond /= -big_split /=.
apply: ler_sum => -[x y] _ /=; rewrite mulrCA; case: (boolP (near x y)) => [xy|_] /=.
  by rewrite addr0; apply: ler_wpmul2l; [exact: mass_ge0 | have := ok _ _ xy B; rewrite addr0].
apply: le_trans (_ : c (x, y) <= _); first by apply: ler_pimulr; [exact: mass_ge0 | exact: pr_le1].
by rewrite ler_addr !mulr_ge0 ?mass_ge0 ?pr_ge0 // ltW ?expR_gt0.
Qed.

(** With discrete Laplace noise on [n] whole numbers. *)
Corollary wasserstein_laplace n (F : T -> 'I_n -> int) (W : nat) (b e : R) (c : dist R [finType of T * T])
    (w : 'I_n -> int) :
  0 < b -> coupling c -> moved_far [rel x y | \sum_j `|F x j - F y j| <= W]%N c = 0 -> W%:R <= b * e ->
  \sum_x f x * \prod_j laplace b (w j - F x j) <= expR e * \sum_y g y * \prod_j laplace b (w j - F y j).
Proof.
move=> b0 cc far le_W; apply: wasserstein_pure cc far _ _ => [x|x y /= near].
  by apply: prodr_ge0 => j _; apply: ltW; exact: laplace_gt0.
exact: laplace_vector near le_W.
Qed.

End Wasserstein.
