(** * Discrete Laplace noise

    The noise of scale [b] on whole numbers has masses in proportion to [exp (- |z| / b)]. Moving an answer by [D], in
    the sum of the absolute values, changes the mass of no output by more than [exp (D / b)]. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Laplace.
Variable R : realType.
Variable b : R.
Hypothesis b_gt0 : 0 < b.

Let q : R := expR (- b^-1).

Definition laplace (z : int) : R := (1 - q) / (1 + q) * q ^+ `|z|%N.

Lemma q_gt0 : 0 < q. Proof. exact: expR_gt0. Qed.

Lemma q_lt1 : q < 1.
Proof. by rewrite /q -expR0 ltr_expR oppr_lt0 invr_gt0. Qed.

Lemma q_exp n : q ^+ n = expR (- (n%:R / b)).
Proof.
elim: n => [|n IH]; first by rewrite mul0r oppr0 expR0 expr0.
by rewrite exprS IH /q -expRD -opprD mulrSr mulrDl mul1r addrC.
Qed.

Lemma factor_gt0 : 0 < (1 - q) / (1 + q).
Proof.
apply: divr_gt0; first by rewrite subr_gt0; exact: q_lt1.
by apply: addr_gt0; [exact: ltr01 | exact: q_gt0].
Qed.

Lemma laplace_gt0 z : 0 < laplace z.
Proof. by apply: mulr_gt0; [exact: factor_gt0 | apply: exprn_gt0; exact: q_gt0]. Qed.

Lemma laplaceE z : (1 + q) * laplace z = (1 - q) * q ^+ `|z|%N.
Proof.
rewrite /laplace mulrA mulrCA mulfV ?mulr1 //.
by apply: lt0r_neq0; apply: addr_gt0; [exact: ltr01 | exact: q_gt0].
Qed.

(** The masses are those of a distribution: those up to [n] have the sum [1 - 2 q^(n+1) / (1 + q)], and what lies
    beyond is as small as one likes. *)
Lemma laplace_sum n :
  (1 + q) * (laplace 0 + \sum_(1 <= k < n.+1) (laplace k%:Z + laplace (- k%:Z))) = 1 + q - 2%:R * q ^+ n.+1.
Proof.
elim: n => [|n IH].
  by rewrite big_geq // addr0 laplaceE expr0 mulr1 expr1 mulr_natl mulr2n opprD addrA addrK.
rewrite big_nat_recr //; cbv beta; rewrite addrA mulrDr IH mulrDr !laplaceE !absz_nat.
set z := q ^+ n.+1; have -> : (1 - q) * z + (1 - q) * z = 2%:R * z - 2%:R * q ^+ n.+2.
  by rewrite -mulr2n -[LHS]mulr_natl mulrBl mul1r -exprS mulrBr.
by rewrite addrA addrNK.
Qed.

Lemma laplace_shift (x y w : int) (D : nat) :
  (`|x - y| <= D)%N -> laplace (w - x) <= expR (D%:R / b) * laplace (w - y).
Proof.
move=> le; rewrite /laplace mulrCA ler_pmul2l ?factor_gt0 //.
have near : (`|w - y| <= `|w - x| + D)%N.
  apply: leq_trans (leq_add (leqnn _) le).
  exact: leq_add_dist.
have -> : expR (D%:R / b) = (q ^+ D)^-1 by rewrite q_exp expRN invrK.
rewrite ler_pdivl_mull ?exprn_gt0 ?q_gt0 // -exprD addnC.
by apply: ler_wiexpn2l near; rewrite ltW ?q_gt0 ?q_lt1.
Qed.

(** Answers of several numbers, each with noise of its own. *)
Lemma laplace_vector n (x y w : 'I_n -> int) (D : nat) e :
  (\sum_j `|x j - y j| <= D)%N -> D%:R <= b * e ->
  \prod_j laplace (w j - x j) <= expR e * \prod_j laplace (w j - y j).
Proof.
move=> moved le.
apply: le_trans (_ : expR ((\sum_j `|x j - y j|)%:R / b) * \prod_j laplace (w j - y j) <= _).
  rewrite natr_sum mulr_suml (big_morph (@expR R) (@expRD R) (@expR0 R)) -big_split /=; apply: ler_prod => j _.
  by rewrite ltW ?laplace_gt0 //=; exact: laplace_shift.
apply: ler_wpmul2r; first by apply: prodr_ge0 => j _; apply: ltW; exact: laplace_gt0.
by rewrite ler_expR ler_pdivr_mulr // mulrC; apply: le_trans le; rewrite ler_nat.
Qed.

End Laplace.
