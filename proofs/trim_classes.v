(** * Private tables: trim, any number of classes

    There are [m] classes with counts [g a] of a public sum. Noise [z a] of sum 0 is drawn, given that no [z a] is
    beyond [c], and of class [a] at most [g a + z a - c] records are handed on: real records only. [x a = c - z a] is
    never negative, and these have the sum [m * c]: so there are finitely many. What is lost is the chance that the
    noise of one class is beyond [c - k], the same for every way in which secrets [k] moves apart differ. *)

From Coq Require Import Lia.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish noise.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section TrimClasses.
Variable R : realType.
Variables (m c : nat).
Notation M := (m * c)%N.
Notation vector := {ffun 'I_m -> 'I_M.+1}.

(** The vectors [x] that can be drawn, and the noisy counts [g + z]. *)
Definition drawn (x : vector) := (\sum_a x a == M)%N.
Definition noisy (g : 'I_m -> int) (x : vector) : {ffun 'I_m -> int} := [ffun a => g a + (c%:Z - (x a)%:Z)].

(** How many records class [a] loses from [g] to [g']. *)
Definition lost (g g' : 'I_m -> int) a : nat := if g' a <= g a then `|g a - g' a|%N else 0%N.

Lemma lost_sum g g' k :
  \sum_a g a = \sum_a g' a -> (\sum_a `|g a - g' a| <= 2 * k)%N -> (\sum_a lost g g' a <= k)%N.
Proof.
move=> same le; rewrite -(leq_pmul2l (isT : (0 < 2)%N)); apply: leq_trans le.
rewrite -lez_nat PoszM !(big_morph Posz PoszD (erefl 0%:Z)) le_eqVlt; apply/orP; left; apply/eqP.
rewrite -[RHS]addr0; have -> : 0 = \sum_a (g a - g' a) by rewrite sumrB same subrr.
rewrite -big_split mulr_sumr /=; apply: eq_bigr => a _; rewrite /lost abszE; case: ifP => le_a.
  by rewrite abszE ger0_norm ?subr_ge0 // -[2%Z]/(1 + 1 : int) mulrDl mul1r.
by rewrite mulr0 ltr0_norm ?subr_lt0 ?ltNge ?le_a // addNr.
Qed.

Variable h : vector -> R.
Hypothesis h0 : forall x, 0 <= h x.

(** [h x] is the mass of [x], up to a constant; [events G] is the chance of an event under tables made from [G]. *)
Theorem trim_classes (k : nat) (e : R) (g g' : 'I_m -> int) (events : {ffun 'I_m -> int} -> R) :
  \sum_a g a = \sum_a g' a -> (\sum_a `|g a - g' a| <= 2 * k)%N ->
  (forall x x', drawn x -> drawn x' -> (\sum_a `|(x a)%:Z - (x' a)%:Z| <= 2 * k)%N -> h x <= expR e * h x') ->
  (forall G, 0 <= events G <= 1) ->
  \sum_(x | drawn x) h x * events (noisy g x) <=
  expR e * (\sum_(x | drawn x) h x * events (noisy g' x)) +
  \sum_(x | drawn x && [exists a, x a < lost g g' a]%N) h x.
Proof.
move=> same near noise ev.
pose y (x : vector) a : nat := absz ((x a)%:Z - (g a - g' a))%R.
pose move_ (x : vector) : vector := [ffun a => inord (y x a)].
pose A : pred vector := [pred x | drawn x && [forall a, lost g g' a <= x a]%N].
have yE (x : vector) a : x \in A -> (y x a)%:Z = (x a)%:Z - (g a - g' a).
  rewrite inE => /andP[_ /forallP/(_ a)]; rewrite /lost /y abszE => le; apply: ger0_norm; rewrite subr_ge0.
  move: le; case: ifP => [le_a|/negbT]; last rewrite -ltNge => lt_a _.
    by rewrite -lez_nat abszE ger0_norm ?subr_ge0.
  by apply: le_trans (_ : 0 <= _) => //; rewrite subr_le0 ltW.
have ysum x : x \in A -> (\sum_a y x a)%N = M.
  move=> xA; apply/eqP; rewrite -eqz_nat (big_morph Posz PoszD (erefl 0%:Z)) (eq_bigr _ (fun a _ => yE x a xA)).
  by rewrite !sumrB same subrr subr0 -(big_morph Posz PoszD (erefl 0%:Z)) eqz_nat; case/andP: xA.
have moveE (x : vector) a : x \in A -> move_ x a = y x a :> nat.
  by move=> xA; rewrite ffunE inordK // ltnS -(ysum _ xA) (bigD1 a) //= leq_addr.
have moved x : x \in A -> drawn (move_ x).
  by move=> xA; rewrite /drawn (eq_bigr _ (fun a _ => moveE x a xA)) (ysum _ xA).
have noisyE x : x \in A -> noisy g x = noisy g' (move_ x).
  move=> xA; apply/ffunP => a; rewrite !ffunE -[nat_of_ord (inord _)]/(nat_of_ord _).
  have := moveE x a xA; rewrite ffunE => ->; rewrite (yE x a xA) opprB addrCA [g' a + _]addrCA; congr (_ + _).
  by rewrite addrA [g' a + _]addrC subrK.
have back x : x \in A ->
    h x * events (noisy g x) <= expR e * (h (move_ x) * events (noisy g' (move_ x))).
  move=> xA; rewrite -noisyE // mulrA; apply: ler_wpmul2r; first by have /andP[] := ev (noisy g x).
  apply: noise; [by case/andP: xA | exact: moved | apply: leq_trans near].
  rewrite leq_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => a _.
  by rewrite (moveE x a xA) (yE x a xA) opprB addrCA subrr addr0.
have ge0 x : 0 <= h x * events (noisy g' x) by rewrite mulr_ge0 //; have /andP[] := ev (noisy g' x).
have inj : {in A &, injective move_}.
  move=> x x' xA x'A eq; apply/ffunP => a; apply: val_inj; apply/eqP; rewrite /= -eqz_nat; apply/eqP.
  by apply: (addIr (- (g a - g' a))); rewrite -!yE // -!moveE // eq.
have inner : \sum_(x in A) h x * events (noisy g x) <= expR e * \sum_(x | drawn x) h x * events (noisy g' x).
  apply: le_trans (ler_sum _ back) _; rewrite -mulr_sumr ler_pmul2l ?expR_gt0 //.
  rewrite -(big_imset (fun x => h x * events (noisy g' x)) inj) /=.
  rewrite big_mkcond [X in _ <= X]big_mkcond /=; apply: ler_sum => x _; case: ifP => [/imsetP[w wA ->]|_].
    by rewrite moved.
  by case: ifP.
rewrite (bigID [pred x : vector | [forall a, lost g g' a <= x a]%N]) /=; apply: ler_add inner _.
rewrite big_mkcond [X in _ <= X]big_mkcond /=; apply: ler_sum => x _.
have -> : ~~ [forall a, (lost g g' a <= x a)%N] = [exists a, (x a < lost g g' a)%N].
  by rewrite negb_forall; apply: eq_existsb => a; rewrite -ltnNge.
by case: ifP => // _; apply: ler_pimulr => //; have /andP[] := ev (noisy g x).
Qed.

End TrimClasses.

(** ** The worst way to lose

    The noise of each class has its own factor [psi (x a)] in the mass. Of all ways to lose [K] records, the loss of
    all of them by one class is the worst, if [psi] is log-concave: products grow as two arguments of one sum draw
    nearer. *)
Section Worst.
Variable R : realType.
Variables (m c : nat).
Notation M := (m * c)%N.
Notation vector := {ffun 'I_m -> 'I_M.+1}.
Variable psi : nat -> R.
Hypothesis psi0 : forall i, 0 <= psi i.
Hypothesis concave : forall i i' j, (i + j <= i')%N -> psi i * psi i' <= psi (i + j) * psi (i' - j).

(** As polynomials: the coefficient of [M] of their product is the mass of the vectors with [w a <= x a]. *)
Let P w : {poly R} := \poly_(i < M.+1) (if (w <= i)%N then psi i else 0).
Let below (p q : {poly R}) := forall i, (i <= M)%N -> p`_i <= q`_i.
Let positive (p : {poly R}) := forall i, 0 <= p`_i.

Let P0 w : positive (P w).
Proof. by move=> i; rewrite coef_poly; case: ifP => // _; case: ifP. Qed.

Let mul0 p q : positive p -> positive q -> positive (p * q).
Proof. by move=> p0 q0 i; rewrite coefM; apply: sumr_ge0 => j _; apply: mulr_ge0. Qed.

Let exp0 p n : positive p -> positive (p ^+ n).
Proof.
move=> p0; elim: n => [|n IH]; last by rewrite exprS; apply: mul0.
by move=> i; rewrite expr0 coef1 ler0n.
Qed.

Let below_mul p q r : positive r -> below p q -> below (p * r) (q * r).
Proof.
move=> r0 pq i iM; rewrite !coefM; apply: ler_sum => j _; apply: ler_wpmul2r => //; apply: pq.
by apply: leq_trans iM; rewrite -ltnS.
Qed.

(** Two classes that lose [K] together. *)
Let window K T w : (w <= K)%N -> (K <= T)%N -> (T <= M)%N ->
  (P w * P (K - w))`_T = \sum_(w <= j < (T - K + w).+1) psi j * psi (T - j).
Proof.
move=> wK KT TM; rewrite coefM -(big_mkord predT (fun j => (P w)`_j * (P (K - w))`_(T - j))).
have le : ((T - K + w).+1 <= T.+1)%N by rewrite ltnS -leq_subRL ?leq_subr // subKn.
rewrite (big_nat_widen _ _ _ _ _ le) (big_nat_widenl _ _ _ _ _ (leq0n w)) /= [RHS]big_mkcond.
apply: eq_big_nat => j /andP[_]; rewrite ltnS => jT; rewrite !coef_poly !ltnS.
rewrite (leq_trans jT TM) (leq_trans (leq_subr _ _) TM).
have -> : (j <= T - K + w)%N = (K - w <= T - j)%N.
  move/ssrnat.leP: wK => wK; move/ssrnat.leP: KT => KT; move/ssrnat.leP: jT => jT.
  by apply/idP/idP => /ssrnat.leP; rewrite -!plusE -!minusE => h; apply/ssrnat.leP; lia.
by rewrite andbC; case: (w <= j)%N; case: (_ <= _)%N; rewrite /= ?mulr0 ?mul0r.
Qed.

Let nearer K T w : (w + w < K)%N -> (K <= T)%N -> (T <= M)%N ->
  (P w * P (K - w))`_T <= (P w.+1 * P (K - w.+1))`_T.
Proof.
move=> wwK KT TM; have wK : (w < K)%N by apply: leq_ltn_trans wwK; exact: leq_addr.
rewrite !window ?(ltnW wK) // big_ltn ?ltnS ?leq_addl // addnS [X in _ <= X]big_nat_recr /= ?ltnS ?leq_addl //.
rewrite addrC ler_add2l.
have jE : K = ((w + w).+1 + (K - (w + w).+1))%N by rewrite subnKC.
have rE : T = (K + (T - K))%N by rewrite subnKC.
move: (K - (w + w).+1)%N (T - K)%N jE rE => j r jE rE; rewrite rE jE {TM KT wwK wK rE jE K T}.
have -> : ((w + w).+1 + j + r - w = w.+1 + j + r)%N by rewrite -!plusE -!minusE; lia.
have -> : ((w + w).+1 + j + r - (r + w).+1 = w + j)%N by rewrite -!plusE -!minusE; lia.
have le : (w + j <= w.+1 + j + r)%N by rewrite -!plusE; apply/ssrnat.leP; lia.
apply: le_trans (concave le) _; rewrite mulrC.
have -> : (w.+1 + j + r - j = (r + w).+1)%N by rewrite -!plusE -!minusE; lia.
exact: lexx.
Qed.

Let pair w1 w2 : below (P 0 * P (w1 + w2)) (P w1 * P w2).
Proof.
wlog le : w1 w2 / (w1 <= w2)%N => [sym|T TM].
  by case: (leqP w1 w2) => [/sym//|/ltnW/sym]; rewrite addnC [P w2 * _]mulrC.
case: (leqP (w1 + w2) T) => [KT|TK]; last first.
  apply: le_trans (mul0 (P0 w1) (P0 w2) T); rewrite coefM big1 // => j _.
  rewrite [(P (w1 + w2))`_ _]coef_poly [(w1 + w2 <= _)%N]leqNgt (leq_ltn_trans (leq_subr _ _) TK) /=.
  by case: ifP; rewrite mulr0.
have gen w : (w + w <= w1 + w2)%N -> (P 0 * P (w1 + w2))`_T <= (P w * P (w1 + w2 - w))`_T.
  elim: w => [|w IH] ww; first by rewrite subn0.
  have ww' : (w + w < w1 + w2)%N by apply: leq_trans ww; rewrite addSn ltnS addnS leqnSn.
  by apply: le_trans (IH (ltnW ww')) (nearer ww' KT TM).
by have := gen w1; rewrite leq_add2l addKn => /(_ le).
Qed.

Let gather (w : 'I_m -> nat) a (s : seq 'I_m) :
  below (P (w a + \sum_(b <- s) w b)%N * P 0 ^+ size s) (P (w a) * \prod_(b <- s) P (w b)).
Proof.
elim: s a => [|b s IH] a i iM; first by rewrite !big_nil addn0.
rewrite !big_cons /= exprS.
apply: le_trans (_ : (P (w b + \sum_(b <- s) w b)%N * P 0 ^+ size s * P (w a))`_i <= _); last first.
  by rewrite [P (w a) * (_ * _)]mulrC; exact: (below_mul (P0 (w a)) (IH b)) iM.
have -> : P (w b + \sum_(b <- s) w b)%N * P 0 ^+ size s * P (w a) =
    P (w a) * P (w b + \sum_(b <- s) w b)%N * P 0 ^+ size s by rewrite mulrC mulrA.
rewrite mulrA [P _ * P 0]mulrC; exact: (below_mul (exp0 (size s) (P0 0)) (pair _ _)) iM.
Qed.

(** The mass of the vectors that leave enough in each class. *)
Let enough (w : 'I_m -> nat) (x : vector) := [forall a, w a <= x a]%N.
Let mass (w : 'I_m -> nat) := \sum_(x : vector | drawn x && enough w x) \prod_a psi (x a).

Let massE w : mass w = (\prod_a P (w a))`_M.
Proof.
under [in RHS]eq_bigr do rewrite /P poly_def.
rewrite (bigA_distr_bigA (fun a (i : 'I_M.+1) => (if (w a <= i)%N then psi i else 0) *: 'X^i)) /=.
rewrite coef_sum /mass big_mkcond; apply: eq_bigr => x _.
rewrite scaler_prod -(big_morph (fun n => 'X^n) (exprD 'X) (expr0 'X)) coefZ coefXn eq_sym -/(drawn x).
case: (drawn x); rewrite /= ?mulr0 // mulr1 /enough.
case: (boolP [forall a, _]) => [/forallP all_|]; first by apply: eq_bigr => a _; rewrite all_.
by rewrite negb_forall => /existsP[a /negbTE no]; rewrite (bigD1 a) //= no mul0r.
Qed.

Theorem worst_way (w : 'I_m -> nat) (a0 : 'I_m) k : (\sum_a w a <= k)%N ->
  \sum_(x : vector | drawn x && [exists a, x a < w a]%N) \prod_a psi (x a) <=
  \sum_(x : vector | drawn x && (x a0 < k)%N) \prod_a psi (x a).
Proof.
move=> wk; pose K := (\sum_a w a)%N; pose w0 a := if a == a0 then K else 0%N.
have prod0 (x : vector) : 0 <= \prod_a psi (x a) by exact: prodr_ge0.
have split_ v : \sum_(x : vector | drawn x) \prod_a psi (x a) =
    mass v + \sum_(x : vector | drawn x && [exists a, x a < v a]%N) \prod_a psi (x a).
  rewrite (bigID (enough v)) /=; congr (_ + _); apply: eq_bigl => x; congr (_ && _).
  by rewrite /enough negb_forall; apply: eq_existsb => a; rewrite -ltnNge.
apply: le_trans (_ : \sum_(x : vector | drawn x && [exists a, x a < w0 a]%N) \prod_a psi (x a) <= _); last first.
  rewrite big_mkcond [X in _ <= X]big_mkcond /=; apply: ler_sum => x _; case: (drawn x) => //=.
  case: (boolP [exists a, _]) => [/existsP[a]|_]; last by case: ifP.
  by rewrite /w0; case: eqP => // -> lt; rewrite (leq_trans lt wk).
suff le : mass w0 <= mass w.
  by rewrite -(ler_add2l (mass w0)) -split_ (split_ w) ler_add2r.
rewrite !massE (bigD1 a0) //= [\prod_a P (w a)](bigD1 a0) //= -!(big_filter _ (fun a => a != a0)).
pose s := [seq a <- index_enum (ordinal_finType m) | a != a0].
have -> : \prod_(a <- s) P (w0 a) = P 0 ^+ size s.
  rewrite big_filter (eq_bigr (fun=> P 0)) => [|a /negbTE ne]; last by rewrite /w0 ne.
  by rewrite big_const_seq iter_mulr_1 size_filter.
have -> : w0 a0 = (w a0 + \sum_(b <- s) w b)%N by rewrite /w0 eqxx /K (bigD1 a0) //= big_filter.
exact: (gather w a0 s).
Qed.

End Worst.

(** ** With noise on moves

    Its masses are those of discrete Laplace noise of scale [2 b] on every class, given that the sum is 0: up to a
    constant, which is the same on both sides. So what is lost is the chance that the noise of class [a0] is beyond
    [c - k], given that none is beyond [c]: which class is taken does not matter. *)
Section Moves.
Variable R : realType.
Variables (m c : nat) (b : R).
Hypothesis b0 : 0 < b.
Notation M := (m * c)%N.
Notation vector := {ffun 'I_m -> 'I_M.+1}.

Let psi (i : nat) : R := laplace (2%:R * b) (c%:Z - i%:Z).
Let b2 : 0 < 2%:R * b. Proof. by rewrite mulr_gt0 ?ltr0n. Qed.

Lemma psi_concave i i' j : (i + j <= i')%N -> psi i * psi i' <= psi (i + j) * psi (i' - j).
Proof.
move=> le; have f0 := factor_gt0 b2.
rewrite /psi /laplace mulrACA [X in _ <= X]mulrACA; apply: ler_wpmul2l; first by rewrite ltW // mulr_gt0.
rewrite -!exprD; apply: ler_wiexpn2l; rewrite ?ltW ?q_gt0 ?(q_lt1 b2) //.
have distE u : `|c%:Z - u%:Z|%N = (c - u + (u - c))%N.
  by case: (leqP u c) => [uc|/ltnW cu]; rewrite ?(distnEl uc) ?(distnEr cu); [move: uc | move: cu];
     rewrite -subn_eq0 => /eqP->; rewrite ?addn0.
by rewrite !distE; move/ssrnat.leP: le; rewrite -!plusE -!minusE => le; apply/ssrnat.leP; lia.
Qed.

Theorem trim_moves (k : nat) (eps : R) (g g' : 'I_m -> int) (events : {ffun 'I_m -> int} -> R) (a0 : 'I_m) :
  let h (x : vector) : R := \prod_a laplace (2%:R * b) (c%:Z - (x a)%:Z) in
  \sum_a g a = \sum_a g' a -> (\sum_a `|g a - g' a| <= 2 * k)%N -> k%:R <= b * eps ->
  (forall G, 0 <= events G <= 1) ->
  \sum_(x | drawn x) h x * events (noisy g x) <=
  expR eps * (\sum_(x | drawn x) h x * events (noisy g' x)) +
  \sum_(x : vector | drawn x && (c%:Z - k%:Z < c%:Z - (x a0)%:Z)) h x.
Proof.
move=> h same near le ev.
have h0 x : 0 <= h x by apply: prodr_ge0 => a _; apply/ltW/laplace_gt0.
apply: le_trans (trim_classes h0 same near _ ev) _.
  move=> x x' _ _ moved.
  apply: (@laplace_vector R _ b2 m (fun a => (x a)%:Z) (fun a => (x' a)%:Z) (fun=> c%:Z) _ eps moved).
  by rewrite natrM -mulrA ler_pmul2l ?ltr0n.
rewrite ler_add2l.
have -> : \sum_(x : vector | drawn x && (c%:Z - k%:Z < c%:Z - (x a0)%:Z)) h x =
    \sum_(x : vector | drawn x && (x a0 < k)%N) h x.
  by apply: eq_bigl => x; rewrite ltr_add2l ltr_opp2 ltz_nat.
apply: (@worst_way R m c psi) => [i||].
- exact/ltW/laplace_gt0.
- exact: psi_concave.
- exact: lost_sum.
Qed.

End Moves.
