(** * Channels in whole numbers

    A mechanism that releases [w] where the exact answer is [x] with chance [N x w / D], whole numbers. The
    distributions of the answer given the two secrets of a pair are known between bounds in whole numbers over [L],
    and [A / B] is at most [exp eps]. An inequality in whole numbers for each output is all that the guarantee needs.
    *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Channel.
Variable R : realType.
Variables (X W : finType) (N : X -> W -> nat) (D : nat).
Hypotheses (D_gt0 : (0 < D)%N) (rows : forall x, (\sum_w N x w)%N = D).

Let D0 : 0 < D%:R :> R. Proof. by rewrite ltr0n. Qed.

(** A row, as a distribution: [u] of [D] equally likely whole numbers give the output. *)
Definition row (x : X) : dist R W.
Proof.
refine (@Dist R W (fun w => (N x w)%:R / D%:R) _ _).
- by move=> w; rewrite divr_ge0 ?ler0n.
- by rewrite -mulr_suml -natr_sum rows mulfV ?lt0r_neq0.
Defined.

Variables (p q : dist R X) (high low : X -> nat) (L A B : nat) (eps : R).
Hypotheses (L_gt0 : (0 < L)%N) (B_gt0 : (0 < B)%N).
Hypotheses (p_high : forall x, p x <= (high x)%:R / L%:R) (q_low : forall x, (low x)%:R / L%:R <= q x).
Hypothesis ratio : A%:R / B%:R <= expR eps.

Let L0 : 0 < L%:R :> R. Proof. by rewrite ltr0n. Qed.
Let B0 : 0 < B%:R :> R. Proof. by rewrite ltr0n. Qed.

Lemma channel_above w : B%:R * L%:R * D%:R * bind p row w <= (B * \sum_x high x * N x w)%:R.
Proof.
rewrite natrM -!mulrA ler_pmul2l // natr_sum mulr_sumr mulr_sumr; apply: ler_sum => x _ /=.
rewrite natrM [p x * _]mulrA [D%:R * _]mulrC mulfVK ?lt0r_neq0 // mulrA; apply: ler_wpmul2r; first exact: ler0n.
by rewrite -ler_pdivl_mull // mulrC.
Qed.

Lemma channel_below w : (A * \sum_x low x * N x w)%:R <= B%:R * L%:R * D%:R * (expR eps * bind q row w).
Proof.
have -> : B%:R * L%:R * D%:R * (expR eps * bind q row w) = (B%:R * expR eps) * (L%:R * (D%:R * bind q row w)).
  by rewrite -!mulrA; congr (_ * _); rewrite [RHS]mulrCA; congr (_ * _); exact: mulrCA.
rewrite natrM; apply: ler_pmul => //; rewrite ?ler0n //.
  by rewrite -ler_pdivr_mull // mulrC.
rewrite natr_sum mulr_sumr mulr_sumr; apply: ler_sum => x _ /=.
rewrite natrM [q x * _]mulrA [D%:R * _]mulrC mulfVK ?lt0r_neq0 // mulrA; apply: ler_wpmul2r; first exact: ler0n.
by rewrite -ler_pdivr_mull // mulrC.
Qed.

(** With delta: what each output misses, [t w], in whole numbers too, adds up to [delta] at most. *)
Theorem channel_slack (t : W -> nat) (delta : R) :
  (forall w, B * (\sum_x high x * N x w) <= A * (\sum_x low x * N x w) + t w)%N ->
  (\sum_w t w)%:R <= delta * (B * L * D)%:R ->
  alike eps delta (bind p row) (bind q row).
Proof.
move=> check sum S; have BLD : 0 < B%:R * L%:R * D%:R :> R by rewrite !mulr_gt0.
rewrite -(ler_pmul2l BLD) mulrDr.
apply: le_trans (_ : B%:R * L%:R * D%:R * (expR eps * pr (bind q row) S) + (\sum_w t w)%:R <= _).
  rewrite /pr !mulr_sumr natr_sum.
  apply: le_trans (_ : \sum_(w | S w) (B%:R * L%:R * D%:R * (expR eps * bind q row w) + (t w)%:R) <= _).
    apply: ler_sum => w _; apply: le_trans (channel_above w) _.
    apply: le_trans (_ : (A * (\sum_x low x * N x w) + t w)%:R <= _); first by rewrite ler_nat.
    by rewrite natrD ler_add2r channel_below.
  rewrite big_split /= ler_add2l [X in _ <= X](bigID S) /= ler_addl; apply: sumr_ge0 => w _; exact: ler0n.
by rewrite ler_add2l mulrC; move: sum; rewrite !natrM.
Qed.

(** Pure: nothing missed. *)
Theorem channel_pure :
  (forall w, B * (\sum_x high x * N x w) <= A * (\sum_x low x * N x w))%N -> alike eps 0 (bind p row) (bind q row).
Proof.
by move=> check; apply: (@channel_slack (fun=> 0%N)) => [w|]; rewrite ?addn0 // big1 // mul0r.
Qed.

End Channel.
