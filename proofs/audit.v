(** * Audits from outputs alone

    In every round a fair coin chooses one of two secrets, and the mechanism is run under it. Somebody who sees the
    coin and the output bets that the mechanism is not (e, d) private. If it is, no way to bet is expected to win,
    whatever was seen before; so the wealth passes [1 / alpha], at any time, with a chance of at most [alpha]. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish composition.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** What one starts with is 1. A round multiplies it by [factor h o], where [h] are the outcomes before and [o] is the
    new one: what is staked is chosen after [h] and before [o]. *)
Section Betting.
Variable R : realType.
Variable O : finType.
Variable round : seq O -> dist R O.
Variable factor : seq O -> O -> R.

Fixpoint wealth_after (h w : seq O) : R :=
  if w is o :: w' then factor h o * wealth_after (rcons h o) w' else 1.
Definition wealth := wealth_after [::].

(** All outcomes up to [T] rounds. *)
Definition rounds T : dist R [finType of T.-tuple O] := run (fun h (_ : unit) => round h) T tt.

Hypothesis factor_ge0 : forall h o, 0 <= factor h o.
Hypothesis factor_mean : forall h, \sum_o round h o * factor h o <= 1.

Lemma wealth_rcons w o : wealth (rcons w o) = wealth w * factor w o.
Proof.
have gen : forall h, wealth_after h (rcons w o) = wealth_after h w * factor (h ++ w) o.
  elim: w => [|u w IH] h /=; first by rewrite cats0 mulr1 mul1r.
  by rewrite IH cat_rcons mulrA.
exact: gen.
Qed.

Lemma wealth_ge0 w : 0 <= wealth w.
Proof.
by elim/last_ind: w => [|w o IH]; [exact: ler01 | rewrite wealth_rcons mulr_ge0].
Qed.

(** A supermartingale: whatever was seen, the next round is not expected to win. *)
Theorem wealth_supermartingale h : \sum_o round h o * wealth (rcons h o) <= wealth h.
Proof.
rewrite (eq_bigr (fun o => wealth h * (round h o * factor h o))); last first.
  by move=> o _; rewrite wealth_rcons mulrCA.
by rewrite -mulr_sumr; apply: ler_pimulr; [exact: wealth_ge0 | exact: factor_mean].
Qed.

(** The wealth is [a] or more now, or was at any time before. *)
Definition reached a w := has (fun t => a <= wealth (take t w)) (iota 0 (size w).+1).

Lemma reached_rcons a w o : reached a (rcons w o) = reached a w || (a <= wealth (rcons w o)).
Proof.
rewrite /reached size_rcons -[in LHS]addn1 iotaD has_cat add0n has_seq1; congr (_ || _).
  apply: eq_in_has => t; rewrite mem_iota /= add0n ltnS => tw.
  by rewrite -cats1 takel_cat.
by rewrite take_oversize // size_rcons.
Qed.

Lemma reached_take a t w : reached a (take t w) -> reached a w.
Proof.
move=> /hasP[u]; rewrite mem_iota /= add0n ltnS => uw le; apply/hasP; exists u; last first.
  by move: le; rewrite take_take //; apply: leq_trans uw _; rewrite size_take; case: ltnP.
rewrite mem_iota /= add0n ltnS; apply: leq_trans uw _.
by rewrite size_take; case: ltnP => // /ltnW.
Qed.

(** Ville's inequality, for any number [T] of rounds. *)
Theorem ville T (alpha : R) : 0 < alpha -> pr (rounds T) [pred w : T.-tuple O | reached alpha^-1 w] <= alpha.
Proof.
move=> alpha0; pose a := alpha^-1; have a0 : 0 < a by rewrite invr_gt0.
pose value w := if reached a w then a else wealth w.
have mean : \sum_w rounds T w * value w <= 1.
  elim: T => [|T IH].
    rewrite (bigD1 [tuple]) //= big1 => [|w /eqP wn]; last by case: wn; exact: tuple0.
    by rewrite mul1r addr0 /value /reached /= orbF; case: ifP.
  apply: le_trans IH; rewrite /rounds /=.
  have -> : \sum_w bind (run (fun h (_ : unit) => round h) T tt)
      (fun w => image (fun o => [tuple of rcons w o]) (round w)) w * value w =
      \sum_(w : T.-tuple O) rounds T w * \sum_o round w o * value (rcons w o).
    under eq_bigl do [].
    rewrite /= (eq_bigr (fun v : T.+1.-tuple O => \sum_(w : T.-tuple O) rounds T w *
      (\sum_o round w o * (v == [tuple of rcons w o])%:R * value v))) => [|v _]; last first.
      by rewrite mulr_suml; apply: eq_bigr => w _; rewrite -mulrA mulr_suml.
    rewrite exchange_big /=; apply: eq_bigr => w _; rewrite -mulr_sumr; congr (_ * _).
    rewrite exchange_big /=; apply: eq_bigr => o _.
    rewrite (bigD1 [tuple of rcons w o]) //= eqxx mulr1 big1 ?addr0 // => v /negbTE->.
    by rewrite mulr0 mul0r.
  apply: ler_sum => w _; apply: ler_wpmul2l; first exact: mass_ge0.
  rewrite {2}/value; case: ifP => [hit|no].
    rewrite (eq_bigr (fun o => round w o * a)) => [|o _]; last by rewrite /value reached_rcons hit.
    by rewrite -mulr_suml mass_sum mul1r.
  apply: le_trans (wealth_supermartingale w); apply: ler_sum => o _; apply: ler_wpmul2l; first exact: mass_ge0.
  by rewrite /value reached_rcons no /=; case: ifP.
rewrite -[X in _ <= X]mulr1 -ler_pdivr_mull //; apply: le_trans mean.
rewrite /pr mulr_sumr big_mkcond /=; apply: ler_sum => w _; rewrite /value.
case: ifP => _; first by rewrite mulrC.
by apply: mulr_ge0; [exact: mass_ge0 | exact: wealth_ge0].
Qed.

End Betting.

Section Audit.
Variable R : realType.
Variable Y : finType.
Notation outcome := [finType of bool * Y].

Definition fair : dist R bool_finType.
Proof.
refine (@Dist R _ (fun=> 2%:R^-1) _ _).
- by move=> b; rewrite invr_ge0 ler0n.
- by rewrite big_bool /= -mulr2n -[LHS]mulr_natl mulfV // pnatr_eq0.
Defined.

(** [mechanism h s]: its output under the secret [s], after the outcomes [h] (the same for all [h], if it keeps
    nothing). *)
Variable mechanism : seq outcome -> bool -> dist R Y.
Definition toss (h : seq outcome) : dist R outcome := bind fair (fun s => image (pair s) (mechanism h s)).

Lemma toss_mean h (F : bool -> Y -> R) :
  \sum_o toss h o * F o.1 o.2 =
  2%:R^-1 * (\sum_y mechanism h true y * F true y + \sum_y mechanism h false y * F false y).
Proof.
rewrite (eq_bigr (fun o => toss h (o.1, o.2) * F o.1 o.2)); last by case.
rewrite -(pair_bigA _ (fun s y => toss h (s, y) * F s y)) big_bool mulrDr.
have massE s y : toss h (s, y) = 2%:R^-1 * mechanism h s y.
  rewrite /= (bigD1 s) //= [X in _ + X]big1 ?addr0 => [|t ts].
    congr (_ * _); rewrite (bigD1 y) //= eqxx mulr1 big1 ?addr0 // => z zy.
    by rewrite xpair_eqE eqxx eq_sym (negbTE zy) mulr0.
  by rewrite big1 ?mulr0 // => z _; rewrite xpair_eqE eq_sym (negbTE ts) mulr0.
by congr (_ + _); rewrite mulr_sumr; apply: eq_bigr => y _; rewrite massE -mulrA.
Qed.

(** A bet against (e, d): [c h] is the secret that is said to show, [f h y] between 0 and 1 how much the output [y]
    speaks for it, [l h] the stake. *)
Variables (c : R -> seq outcome -> bool) (f : R -> seq outcome -> Y -> R) (l : R -> seq outcome -> R) (d : R).

Definition gain e h (o : outcome) : R :=
  2%:R * (o.1 == c e h)%:R * f e h o.2 - 2%:R * expR e * (o.1 != c e h)%:R * f e h o.2 - d.
Definition bet e h o : R := 1 + l e h * gain e h o.

Hypothesis f01 : forall e h y, 0 <= f e h y <= 1.
Hypothesis stake_ge0 : forall e h, 0 <= l e h.
Hypothesis d_ge0 : 0 <= d.

(** Nobody stakes more than there is. *)
Hypothesis stake_le : forall e h, l e h * (2%:R * expR e + d) <= 1.

Definition private e := forall h s, alike e d (mechanism h s) (mechanism h (~~ s)).

Lemma bet_ge0 e h o : 0 <= bet e h o.
Proof.
have E0 : 0 <= 2%:R * expR e by rewrite mulr_ge0 ?ler0n // ltW // expR_gt0.
have /andP[f0 f1] := f01 e h o.2.
rewrite /bet -ler_subl_addl sub0r; apply: le_trans (_ : - (l e h * (2%:R * expR e + d)) <= _).
  by rewrite ler_opp2.
rewrite -mulrN; apply: ler_wpmul2l => //; rewrite /gain opprD ler_add2r.
case: (o.1 == c e h); rewrite /= ?mulr1 ?mulr0 ?mul0r ?subr0 ?sub0r.
  by apply: le_trans (_ : 0 <= _); rewrite ?oppr_le0 // mulr_ge0 ?ler0n.
by rewrite ler_opp2; apply: ler_pimulr.
Qed.

Lemma bet_mean e h : private e -> \sum_o toss h o * bet e h o <= 1.
Proof.
move=> priv; rewrite /bet; under eq_bigr do rewrite mulrDr mulr1 mulrCA.
rewrite big_split /= (mass_sum (toss h)) ger_addl -mulr_sumr mulr_ge0_le0 //.
pose F s y : R := gain e h (s, y).
rewrite (eq_bigr (fun o => toss h o * F o.1 o.2)); last by case.
rewrite toss_mean pmulr_rle0 ?invr_gt0 ?ltr0n //.
have swap : forall s, \sum_y mechanism h true y * F true y + \sum_y mechanism h false y * F false y =
    \sum_y mechanism h s y * F s y + \sum_y mechanism h (~~ s) y * F (~~ s) y.
  by case=> //=; rewrite addrC.
rewrite (swap (c e h)).
have -> : \sum_y mechanism h (c e h) y * F (c e h) y = 2%:R * (\sum_y mechanism h (c e h) y * f e h y) - d.
  rewrite mulr_sumr -[X in _ - X]mulr1 -[X in _ - _ * X](mass_sum (mechanism h (c e h))) mulr_sumr -sumrB.
  apply: eq_bigr => y _.
  by rewrite /F /gain /= eqxx /= mulr1 mulr0 mul0r subr0 mulrBr mulrCA [d * _]mulrC.
have -> : \sum_y mechanism h (~~ c e h) y * F (~~ c e h) y =
    - (2%:R * (expR e * (\sum_y mechanism h (~~ c e h) y * f e h y)) + d).
  rewrite -[X in _ + X]mulr1 -[X in _ + _ * X](mass_sum (mechanism h (~~ c e h))) !mulr_sumr -big_split -sumrN /=.
  apply: eq_bigr => y _; rewrite /F /gain /=.
  have -> : (~~ c e h == c e h) = false by case: (c e h).
  rewrite /= mulr0 mul0r sub0r mulr1 -opprD mulrN mulrDr [_ * d]mulrC; congr (- (_ + _)).
  by rewrite -!mulrA mulrCA; congr (2%:R * _); exact: mulrCA.
rewrite opprD addrACA -opprD -mulrBr -mulr2n -[d *+ 2]mulr_natl -mulrBr pmulr_rle0 ?ltr0n //.
rewrite subr_le0 ler_subl_addl; apply: alike_means => // ; exact: priv.
Qed.

(** If the mechanism is (e, d) private, the wealth is [1 / alpha] or more at any time with a chance of at most [alpha].
    *)
Theorem audit T e (alpha : R) : 0 < alpha -> private e ->
  pr (rounds toss T) [pred w : T.-tuple outcome | reached (bet e) alpha^-1 w] <= alpha.
Proof.
move=> alpha0 priv; apply: ville => // h; [exact: bet_ge0 | exact: bet_mean].
Qed.

(** A lower bound of epsilon that is read at any time, chosen with a look at all that was seen: every smaller [e] is
    one whose wealth has reached [1 / alpha]. It is above the true one, in any of [T] rounds, with a chance of at most
    [alpha]. *)
Corollary audit_bound T e (alpha : R) (bound : seq outcome -> R) : 0 < alpha -> private e ->
  (forall w e', e' < bound w -> reached (bet e') alpha^-1 w) ->
  pr (rounds toss T) [pred w : T.-tuple outcome | [exists t : 'I_T.+1, e < bound (take t w)]] <= alpha.
Proof.
move=> alpha0 priv ok; apply: le_trans (audit T alpha0 priv); apply: pr_sub => w /existsP[t lt].
exact: reached_take (ok _ _ lt).
Qed.

End Audit.
