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

Lemma overlap (m : W -> R) (E tau : R) :
  (forall w, 0 <= m w) -> (forall w w', m w <= E * m w') -> 1 <= E -> 0 <= tau -> more p q <= tau * (\sum_w q w) ->
  \sum_w p w * m w <= (1 + tau * (E - 1)) * \sum_w q w * m w.
Proof.
move=> m0 near E1 tau0 le; case: (pickP W) => [w0 _|none]; last first.
  by rewrite !big1 ?mulr0 // => w; have := none w.
pose low := m [arg min_(w < w0) m w]%O.
have low_le w : low <= m w by rewrite /low; case: arg_minP => // w' _; exact.
have low0 : 0 <= low by exact: m0.
pose common := \sum_w Num.min (p w) (q w) * m w.
have above : \sum_w p w * m w <= common + more p q * (E * low).
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
apply: le_trans above _; rewrite mulrDl mul1r.
apply: le_trans (_ : common + more p q * low + tau * (E - 1) * ((\sum_w q w) * low) <= _); last first.
  by apply: ler_add below _; apply: ler_wpmul2l small; rewrite mulr_ge0 // subr_ge0.
rewrite -addrA ler_add2l -ler_subl_addl -mulrBr -{2}[low]mul1r -mulrBl.
have -> : tau * (E - 1) * ((\sum_w q w) * low) = tau * (\sum_w q w) * ((E - 1) * low) by rewrite mulrACA.
by apply: ler_wpmul2r le; rewrite mulr_ge0 // subr_ge0.
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

Theorem bridge b eps_d e tau (m : table -> R) :
  0 <= eps_d -> 0 <= tau -> (forall x, 0 <= m x) -> reads m -> private_records eps_d m -> variation_at_most tau b ->
  1 + tau * (expR eps_d - 1) <= expR e -> one_record l U b e m.
Proof.
move=> eps0 tau0 m0 rd priv tv le j y; case: (pickP V) => [v0 _|none]; last first.
  by rewrite !big1 ?mul0r ?mulr0 // => v; have := none v.
pose who w := if [pick v | read v == w] is Some v then v else v0.
pose h w := m (change y j (who w)).
have hE v : m (change y j v) = h (read v).
  by rewrite /h /who; case: pickP => [v' /eqP same|/(_ v)]; [apply: rd | rewrite eqxx].
have meanE c : (\sum_(v | U v == c) l v * m (change y j v)) * side l U (~~ c) = \sum_w read_scaled c w * h w.
  rewrite (eq_bigr (fun v => l v * h (read v))) => [|v _]; last by rewrite hE.
  by rewrite -read_sum mulr_suml; apply: eq_bigr => w _; rewrite mulrAC.
rewrite meanE -[X in side l U X]negbK meanE.
have scaled0 w : 0 <= read_scaled (~~ b) w.
  by apply: mulr_ge0 (side_ge0 _ _ _); apply: sumr_ge0 => v _; exact: mass_ge0.
have same : \sum_w read_scaled b w = \sum_w read_scaled (~~ b) w by rewrite !scaled_sum negbK mulrC.
have h0 w : 0 <= h w by exact: m0.
have near w w' : h w <= expR eps_d * h w' by exact: priv.
have E1 : 1 <= expR eps_d by rewrite -expR0 ler_expR.
apply: le_trans (overlap scaled0 same h0 near E1 tau0 tv) _.
by apply: ler_wpmul2r le; apply: sumr_ge0 => w _; exact: mulr_ge0.
Qed.

End Bridge.
