(** * A bridge from differential privacy

    A computation that is [eps_d] differentially private for single records, on independent records. Let [tau] be the
    total variation between the distributions of what it reads of one record, given that the record is in the class and
    given that it is not. Then one record moved costs [log (1 + tau (exp eps_d - 1))]; with the per-record rule, secrets
    [k] apart cost [k] times as much. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions records.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Overlap.
Variable R : realType.
Variables (W : finType) (p q : W -> R).
Hypotheses (q0 : forall w, 0 <= q w) (same : \sum_w p w = \sum_w q w).

(** Half the sum of the absolute differences, written as what [p] has more than [q]. *)
Definition more (p q : W -> R) : R := \sum_w (p w - Num.min (p w) (q w)).

Lemma more_sym : more p q = more q p.
Proof. by rewrite /more !sumrB same; congr (_ - _); apply: eq_bigr => w _; rewrite minC. Qed.

Lemma overlap (m : W -> R) (E tau d : R) :
  (forall w, 0 <= m w) -> (forall w w', m w <= E * m w' + d) -> 1 <= E -> 0 <= d -> 0 <= tau ->
  more p q <= tau * (\sum_w q w) ->
  \sum_w p w * m w <= (1 + tau * (E - 1)) * (\sum_w q w * m w) + tau * d * \sum_w q w.
Proof.
move=> m0 near E1 d0 tau0 le; case: (pickP W) => [w0 _|none]; last first.
  by rewrite !big1 ?mulr0 ?addr0 // => w; have := none w.
pose low := m [arg min_(w < w0) m w]%O.
have low_le w : low <= m w by rewrite /low; case: arg_minP => // w' _; exact.
have low0 : 0 <= low by exact: m0.
pose common := \sum_w Num.min (p w) (q w) * m w.
have above : \sum_w p w * m w <= common + more p q * (E * low + d).
  rewrite /common /more mulr_suml -big_split /=; apply: ler_sum => w _.
  rewrite -{1}[p w](subrK (Num.min (p w) (q w))) mulrDl addrC ler_add2l.
  by apply: ler_wpmul2l (near _ _); rewrite subr_ge0 le_minl lexx.
have below : common + more p q * low <= \sum_w q w * m w.
  rewrite more_sym /common /more mulr_suml -big_split /=; apply: ler_sum => w _.
  have -> : q w * m w = Num.min (p w) (q w) * m w + (q w - Num.min (q w) (p w)) * m w.
    by rewrite minC -mulrDl addrC subrK.
  by rewrite ler_add2l; apply: ler_wpmul2l (low_le _); rewrite subr_ge0 le_minl lexx.
have small : (\sum_w q w) * low <= \sum_w q w * m w.
  by rewrite mulr_suml; apply: ler_sum => w _; apply: ler_wpmul2l.
have E0 : 0 <= E - 1 by rewrite subr_ge0.
apply: le_trans above _; rewrite mulrDl mul1r.
have -> : E * low + d = low + ((E - 1) * low + d) by rewrite addrA mulrBl mul1r [low + _]addrC subrK.
rewrite mulrDr addrA -[X in _ <= X]addrA; apply: ler_add below _.
have X0 : 0 <= (E - 1) * low + d by rewrite addr_ge0 // mulr_ge0.
apply: le_trans (ler_wpmul2r X0 le) _; rewrite mulrDr; apply: ler_add; last by rewrite mulrAC.
by rewrite mulrACA; apply: ler_wpmul2l small; rewrite mulr_ge0.
Qed.

End Overlap.

Section Bridge.
Variable R : realType.
Variables (V W : finType) (n : nat) (l : dist R V) (U : pred V).
Notation table := {ffun 'I_n -> V}.

(** What is read of one record, and the masses of it on either side of the class, each times the chance of the other
    side, so that both have one sum. *)
Variable read : V -> W.
Definition read_mass (b : bool) (w : W) : R := \sum_(v | (U v == b) && (read v == w)) l v.
Definition read_scaled b w : R := read_mass b w * side l U (~~ b).

Lemma read_sum b (h : W -> R) : \sum_w read_mass b w * h w = \sum_(v | U v == b) l v * h (read v).
Proof.
rewrite (partition_big read predT) //=; apply: eq_bigr => w _; rewrite /read_mass mulr_suml.
by apply: eq_bigr => v /andP[_ /eqP->].
Qed.

Lemma scaled_sum b : \sum_w read_scaled b w = side l U b * side l U (~~ b).
Proof.
rewrite -mulr_suml; congr (_ * _); transitivity (\sum_w read_mass b w * 1).
  by apply: eq_bigr => w _; rewrite mulr1.
by rewrite read_sum; apply: eq_bigr => v _; rewrite mulr1.
Qed.

(** [m] reads of record [j] what [read] tells, and is the mass of one output of a computation that is [eps_d]
    differentially private when single records are replaced. *)
Definition reads (m : table -> R) := forall y j v v', read v = read v' -> m (change y j v) = m (change y j v').
Definition private_records eps_d (m : table -> R) :=
  forall y j v v', m (change y j v) <= expR eps_d * m (change y j v').

(** The total variation is at most [tau]: what one distribution has more than the other, both divided by their sum. *)
Definition variation_at_most tau b :=
  more (read_scaled b) (read_scaled (~~ b)) <= tau * (\sum_w read_scaled (~~ b) w).

(** With a delta: then one record costs tau times it, in events ([m] is the chance of one). *)
Definition private_records_delta eps_d d (m : table -> R) :=
  forall y j v v', m (change y j v) <= expR eps_d * m (change y j v') + d.

Theorem bridge_delta b eps_d d e tau (m : table -> R) :
  0 <= eps_d -> 0 <= d -> 0 <= tau -> (forall x, 0 <= m x) -> reads m -> private_records_delta eps_d d m ->
  variation_at_most tau b -> 1 + tau * (expR eps_d - 1) <= expR e ->
  forall j y, (\sum_(v | U v == b) l v * m (change y j v)) * side l U (~~ b) <=
    expR e * ((\sum_(v | U v == ~~ b) l v * m (change y j v)) * side l U b) +
    tau * d * (side l U b * side l U (~~ b)).
Proof.
move=> eps0 d0 tau0 m0 rd priv tv le j y; case: (pickP V) => [v0 _|none]; last first.
  by rewrite /side !big1 ?mul0r ?mulr0 ?addr0 // => v; have := none v.
pose who w := if [pick v | read v == w] is Some v then v else v0.
pose h w := m (change y j (who w)).
have hE v : m (change y j v) = h (read v).
  by rewrite /h /who; case: pickP => [v' /eqP same|/(_ v)]; [apply: rd | rewrite eqxx].
have meanE c : (\sum_(v | U v == c) l v * m (change y j v)) * side l U (~~ c) = \sum_w read_scaled c w * h w.
  rewrite (eq_bigr (fun v => l v * h (read v))) => [|v _]; last by rewrite hE.
  by rewrite -read_sum mulr_suml; apply: eq_bigr => w _; rewrite mulrAC.
have <- : \sum_w read_scaled (~~ b) w = side l U b * side l U (~~ b) by rewrite scaled_sum negbK mulrC.
rewrite meanE -[X in side l U X]negbK meanE.
have scaled0 w : 0 <= read_scaled (~~ b) w.
  by apply: mulr_ge0 (side_ge0 _ _ _); apply: sumr_ge0 => v _; exact: mass_ge0.
have same : \sum_w read_scaled b w = \sum_w read_scaled (~~ b) w by rewrite !scaled_sum negbK mulrC.
have h0 w : 0 <= h w by exact: m0.
have near w w' : h w <= expR eps_d * h w' + d by exact: priv.
have E1 : 1 <= expR eps_d by rewrite -expR0 ler_expR.
apply: le_trans (overlap scaled0 same h0 near E1 d0 tau0 tv) _; rewrite ler_add2r.
by apply: ler_wpmul2r le; apply: sumr_ge0 => w _; exact: mulr_ge0.
Qed.

Theorem bridge b eps_d e tau (m : table -> R) :
  0 <= eps_d -> 0 <= tau -> (forall x, 0 <= m x) -> reads m -> private_records eps_d m -> variation_at_most tau b ->
  1 + tau * (expR eps_d - 1) <= expR e -> one_record l U b e m.
Proof.
move=> eps0 tau0 m0 rd priv tv le j y; have priv0 : private_records_delta eps_d 0 m by move=> ? ? ? ?; rewrite addr0.
by have := bridge_delta eps0 (lexx 0) tau0 m0 rd priv0 tv le j y; rewrite mulr0 mul0r addr0.
Qed.

(** Records one after the other, [a i] the chance of an event when [i] of them have moved: what is lost with each is
    multiplied by the factors of those after it. *)
Theorem bridge_steps (a : nat -> R) (e d : R) k :
  (forall i, (i < k)%N -> a i.+1 <= expR e * a i + d) ->
  a k <= expR (k%:R * e) * a 0%N + d * \sum_(i < k) expR (i%:R * e).
Proof.
elim: k => [|k IH] step; first by rewrite mul0r expR0 mul1r big_ord0 mulr0 addr0.
apply: le_trans (step k (ltnSn k)) _.
have below := IH (fun i ik => step i (ltnW ik)).
apply: le_trans (_ : expR e * (expR (k%:R * e) * a 0%N + d * \sum_(i < k) expR (i%:R * e)) + d <= _).
  by rewrite ler_add2r ler_pmul2l ?expR_gt0.
have next i : expR (i.+1%:R * e) = expR e * expR (i%:R * e) by rewrite -expRD -add1n natrD mulrDl mul1r.
rewrite next mulrDr mulrA -addrA ler_add2l big_ord_recl mul0r expR0 [d * (_ + _)]mulrDr mulr1 addrC ler_add2l mulrCA.
rewrite mulr_sumr le_eqVlt; apply/orP; left; apply/eqP; congr (d * _).
by apply: eq_bigr => i _; rewrite -next.
Qed.

End Bridge.
