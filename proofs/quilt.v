(** * The Markov quilt mechanism

    One law of parameters and columns: the protected parameter [i], the parameters [q] of the far columns, the far
    columns [x] and the near ones [y]. The hypothesis that the mechanism leans on is that the far columns are
    independent of the protected parameter given their own parameters; nothing is asked of the near columns. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish noise.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Quilt.
Variable R : realType.
Variables (I Q X Y : finType).
Variable P : dist R [finType of I * Q * X * Y].

Let p_iqx i q x := \sum_y P (i, q, x, y).
Let p_iq i q := \sum_x p_iqx i q x.
Let p_qx q x := \sum_i p_iqx i q x.
Let p_q q := \sum_i p_iq i q.

(** Chances together with the secret being in [a], and of [a] itself. *)
Definition joint (a : pred I) x y := \sum_(i | a i) \sum_q P (i, q, x, y).
Definition far (a : pred I) q := \sum_(i | a i) p_iq i q.
Definition chance (a : pred I) := \sum_q far a q.

(** The far columns are independent of the protected parameter given their own parameters. *)
Definition far_columns_independent := forall i q x, p_iqx i q x * p_q q = p_iq i q * p_qx q x.

(** The influence of the far parameters is at most [e]: (P(q | a) <= exp e P(q | b), each multiplied by both
    chances of the secrets. *)
Definition influence_at_most e a b := forall q, far a q * chance b <= expR e * (far b q * chance a).

Let P0 z : 0 <= P z. Proof. exact: mass_ge0. Qed.

Let p_iqx0 i q x : 0 <= p_iqx i q x. Proof. by apply: sumr_ge0 => y _. Qed.
Let p_iq0 i q : 0 <= p_iq i q. Proof. by apply: sumr_ge0 => x _. Qed.
Let p_q0 q : 0 <= p_q q. Proof. by apply: sumr_ge0 => i _. Qed.
Let p_qx0 q x : 0 <= p_qx q x. Proof. by apply: sumr_ge0 => i _. Qed.

Lemma far_ge0 a q : 0 <= far a q. Proof. by apply: sumr_ge0 => i _. Qed.
Lemma chance_ge0 a : 0 <= chance a. Proof. by apply: sumr_ge0 => q _; exact: far_ge0. Qed.

(** The mean of a function of the far columns, given their parameters; not defined where these have no chance, and then
    it is multiplied by 0. *)
Let mean (l : X -> R) q := (\sum_x p_qx q x * l x) / p_q q.

Lemma far_mean (independent : far_columns_independent) (l : X -> R) (a : pred I) :
  \sum_(i | a i) \sum_q \sum_x p_iqx i q x * l x = \sum_q far a q * mean l q.
Proof.
rewrite exchange_big /=; apply: eq_bigr => q _; rewrite /far mulr_suml; apply: eq_bigr => i _.
have [q0|q0] := eqVneq (p_q q) 0.
  have iq0 : p_iq i q = 0.
    by move/eqP: q0; rewrite psumr_eq0 // => /allP/(_ i); rewrite mem_index_enum => /(_ isT)/eqP.
  rewrite iq0 mul0r big1 // => x _.
  by move/eqP: iq0; rewrite psumr_eq0 // => /allP/(_ x); rewrite mem_index_enum => /(_ isT)/eqP->; rewrite mul0r.
rewrite /mean mulrA mulr_sumr mulr_suml; apply: eq_bigr => x _.
by rewrite mulrA -(independent i q x) mulrAC mulfK.
Qed.

Lemma joint_ge0 a x y : 0 <= joint a x y.
Proof. by apply: sumr_ge0 => i _; apply: sumr_ge0 => q _. Qed.

Let sums (l : X -> R) (a : pred I) :
  \sum_(i | a i) \sum_q \sum_x p_iqx i q x * l x = \sum_x \sum_y joint a x y * l x.
Proof.
rewrite (eq_bigr (fun i => \sum_x \sum_q p_iqx i q x * l x)); last by move=> i _; exact: exchange_big.
rewrite exchange_big /=; apply: eq_bigr => x _.
rewrite -[RHS]mulr_suml /joint [X in _ = X * _]exchange_big /= [RHS]mulr_suml; apply: eq_bigr => i _.
by rewrite [X in _ = X * _]exchange_big /= [RHS]mulr_suml.
Qed.

(** Weights [m x y] of an output that change by a factor of at most [exp c] when the near columns change. *)
Theorem quilt_mechanism (e c : R) (a b : pred I) (m : X -> Y -> R) :
  far_columns_independent -> influence_at_most e a b ->
  (forall x y, 0 <= m x y) -> (forall x y y', m x y <= expR c * m x y') ->
  (\sum_x \sum_y joint a x y * m x y) * chance b <= expR (e + c) * ((\sum_x \sum_y joint b x y * m x y) * chance a).
Proof.
move=> independent influence m0 near.
case: (pickP Y) => [y0 _|none]; last first.
  by rewrite !big1 ?mul0r ?mulr0 // => x _; rewrite big1 // => y; have := none y.
pose l x := m x [arg min_(y < y0) m x y]%O.
have l_le x y : l x <= m x y by rewrite /l; case: arg_minP => // y' _; exact.
have le_l x y : m x y <= expR c * l x by exact: near.
have l0 x : 0 <= l x by exact: m0.
have mean0 q : 0 <= mean l q.
  by rewrite /mean divr_ge0 // sumr_ge0 // => x _; rewrite mulr_ge0.
have above : \sum_x \sum_y joint a x y * m x y <= expR c * \sum_q far a q * mean l q.
  rewrite -(far_mean independent) sums mulr_sumr; apply: ler_sum => x _.
  rewrite mulr_sumr; apply: ler_sum => y _; rewrite mulrCA; apply: ler_wpmul2l => //; exact: joint_ge0.
have below : \sum_q far b q * mean l q <= \sum_x \sum_y joint b x y * m x y.
  rewrite -(far_mean independent) sums; apply: ler_sum => x _; apply: ler_sum => y _.
  by apply: ler_wpmul2l => //; exact: joint_ge0.
apply: le_trans (ler_wpmul2r (chance_ge0 b) above) _.
rewrite addrC expRD -!mulrA ler_pmul2l ?expR_gt0 //.
apply: le_trans (_ : expR e * ((\sum_q far b q * mean l q) * chance a) <= _); last first.
  by rewrite ler_pmul2l ?expR_gt0 //; apply: ler_wpmul2r => //; exact: chance_ge0.
rewrite !mulr_suml mulr_sumr; apply: ler_sum => q _.
rewrite [X in X <= _]mulrAC [X in _ <= _ * X]mulrAC [X in _ <= X]mulrA.
by apply: ler_wpmul2r => //; exact: influence.
Qed.

(** The approximate form: an influence of at most [e] but for a rest [d], the sum over the far parameters of what
    P(q | a) has more than exp e P(q | b), each multiplied by both chances of the secrets. [m x y] is the chance of an
    event. *)
Definition influence_slack e d a b :=
  \sum_q Num.max 0 (far a q * chance b - expR e * (far b q * chance a)) <= d * (chance a * chance b).

Theorem quilt_approximate (e c d : R) (a b : pred I) (m : X -> Y -> R) :
  far_columns_independent -> influence_slack e d a b ->
  (forall x y, 0 <= m x y <= 1) -> (forall x y y', m x y <= expR c * m x y') ->
  (\sum_x \sum_y joint a x y * m x y) * chance b <=
  expR (e + c) * ((\sum_x \sum_y joint b x y * m x y) * chance a) + d * (chance a * chance b).
Proof.
move=> independent slack m01 near.
case: (pickP Y) => [y0 _|none]; last first.
  have c0 s : chance s = 0.
    rewrite /chance big1 // => q _; rewrite /far big1 // => i _; rewrite /p_iq big1 // => x _.
    by rewrite /p_iqx big1 // => y; have := none y.
  by rewrite !c0 !mulr0 addr0.
pose l x := m x [arg min_(y < y0) m x y]%O.
have l_le x y : l x <= m x y by rewrite /l; case: arg_minP => // y' _; exact.
pose top x := Num.min 1 (expR c * l x).
have le_top x y : m x y <= top x by rewrite le_minr near andbT; have /andP[] := m01 x y.
have top0 x : 0 <= top x by apply: le_trans (le_top x y0); have /andP[] := m01 x y0.
have mean0 q : 0 <= mean top q by rewrite /mean divr_ge0 // sumr_ge0 // => x _; rewrite mulr_ge0.
have mean1 q : mean top q <= 1.
  have [q0|q0] := eqVneq (p_q q) 0; first by rewrite /mean q0 invr0 mulr0 ler01.
  rewrite /mean ler_pdivr_mulr ?lt_def ?q0 ?p_q0 // mul1r.
  have -> : p_q q = \sum_x p_qx q x by rewrite /p_q /p_iq exchange_big.
  by apply: ler_sum => x _; apply: ler_pimulr; [exact: p_qx0 | rewrite le_minl lexx].
have above : \sum_x \sum_y joint a x y * m x y <= \sum_q far a q * mean top q.
  rewrite -(far_mean independent) sums; apply: ler_sum => x _; apply: ler_sum => y _.
  by apply: ler_wpmul2l => //; exact: joint_ge0.
have below : \sum_q far b q * mean top q <= expR c * \sum_x \sum_y joint b x y * m x y.
  rewrite -(far_mean independent) sums mulr_sumr; apply: ler_sum => x _; rewrite mulr_sumr; apply: ler_sum => y _.
  rewrite mulrCA; apply: ler_wpmul2l; first exact: joint_ge0.
  by rewrite le_minl ler_pmul2l ?expR_gt0 // l_le orbT.
apply: le_trans (ler_wpmul2r (chance_ge0 b) above) _.
apply: le_trans (_ : expR e * ((\sum_q far b q * mean top q) * chance a) + d * (chance a * chance b) <= _); last first.
  rewrite ler_add2r expRD -mulrA ler_pmul2l ?expR_gt0 // mulrA; apply: ler_wpmul2r below; exact: chance_ge0.
apply: le_trans (ler_add (lexx _) slack); rewrite !mulr_suml mulr_sumr -big_split /=; apply: ler_sum => q _.
have -> : far a q * mean top q * chance b = far a q * chance b * mean top q by rewrite mulrAC.
have -> : expR e * (far b q * mean top q * chance a) = expR e * (far b q * chance a) * mean top q.
  by rewrite -[RHS]mulrA; congr (_ * _); rewrite mulrAC.
rewrite -ler_subl_addl -mulrBl.
set more := far a q * chance b - _.
apply: le_trans (_ : Num.max 0 more * mean top q <= _).
  by apply: ler_wpmul2r => //; rewrite le_maxr lexx orbT.
by apply: ler_pimulr => //; rewrite le_maxr lexx.
Qed.

(** The mass of the output [w] where the answer is [F x y] and every number gets noise of its own. *)
Definition laplace_mass n (F : X -> Y -> 'I_n -> int) b0 (w : 'I_n -> int) x y : R :=
  \prod_j laplace b0 (w j - F x y j).

(** With discrete Laplace noise: an answer of [n] whole numbers that moves by at most [D], in the sum of the absolute
    values, when the near columns change, and noise of scale [D / (eps - e)] or more on each number. *)
Corollary quilt_laplace n (F : X -> Y -> 'I_n -> int) (D : nat) (b0 eps e : R) (a b : pred I) (w : 'I_n -> int) :
  0 < b0 -> far_columns_independent -> influence_at_most e a b -> e <= eps -> D%:R <= b0 * (eps - e) ->
  (forall x y y', (\sum_j `|F x y j - F x y' j| <= D)%N) ->
    (\sum_x \sum_y joint a x y * laplace_mass F b0 w x y) * chance b <=
  expR eps * ((\sum_x \sum_y joint b x y * laplace_mass F b0 w x y) * chance a).
Proof.
move=> b0_gt0 independent influence le_eps le_D moves.
pose mass := laplace_mass F b0 w.
have mass0 x y : 0 <= mass x y by apply: prodr_ge0 => j _; apply: ltW; exact: laplace_gt0.
have -> : expR eps = expR (e + (eps - e)) by rewrite addrC subrK.
by apply: quilt_mechanism => // x y y'; exact: laplace_vector (moves x y y') le_D.
Qed.

End Quilt.
