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

(** The chance of an outcome [o] in a round may depend on all outcomes [h] before it. [W h] is the wealth after [h]: it
    starts with at most 1, is never negative, and no round is expected to raise it (a supermartingale). *)
Section Ville.
Variable R : realType.
Variable O : finType.
Variable round : seq O -> dist R O.

(** All outcomes up to [T] rounds. *)
Definition rounds T : dist R [finType of T.-tuple O] := run (fun h (_ : unit) => round h) T tt.
Definition supermartingale (W : seq O -> R) :=
  [/\ W [::] <= 1, forall h, 0 <= W h & forall h, \sum_o round h o * W (rcons h o) <= W h].

Variable W : seq O -> R.

(** The wealth is [a] or more now, or was at any time before. *)
Definition reached a w := has (fun t => a <= W (take t w)) (iota 0 (size w).+1).

Lemma reached_rcons a w o : reached a (rcons w o) = reached a w || (a <= W (rcons w o)).
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
Theorem ville T (alpha : R) :
  supermartingale W -> 0 < alpha -> pr (rounds T) [pred w : T.-tuple O | reached alpha^-1 w] <= alpha.
Proof.
move=> [start W0 super] alpha0; pose a := alpha^-1; have a0 : 0 < a by rewrite invr_gt0.
pose value w := if reached a w then a else W w.
have mean : \sum_w rounds T w * value w <= 1.
  elim: T => [|T IH].
    rewrite (bigD1 [tuple]) //= big1 => [|w /eqP wn]; last by case: wn; exact: tuple0.
    by rewrite mul1r addr0 /value /reached /= orbF; case: ifP => // /le_trans; apply.
  apply: le_trans IH; rewrite /rounds /=.
  have -> : \sum_w bind (run (fun h (_ : unit) => round h) T tt)
      (fun w => image (fun o => [tuple of rcons w o]) (round w)) w * value w =
      \sum_(w : T.-tuple O) rounds T w * \sum_o round w o * value (rcons w o).
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
  apply: le_trans (super w); apply: ler_sum => o _; apply: ler_wpmul2l; first exact: mass_ge0.
  by rewrite /value reached_rcons no /=; case: ifP.
rewrite -[X in _ <= X]mulr1 -ler_pdivr_mull //; apply: le_trans mean.
rewrite /pr mulr_sumr big_mkcond /=; apply: ler_sum => w _; rewrite /value.
case: ifP => _; first by rewrite mulrC.
by apply: mulr_ge0; [exact: mass_ge0 | exact: W0].
Qed.

End Ville.

(** Several bettors [i], each with the share [share i] of what there is at the start, and nothing is moved between them.
    A round multiplies what a bettor has by [factor i h o]: what is staked is chosen after [h] and before [o]. *)
Section Bettors.
Variable R : realType.
Variables (O I : finType) (round : seq O -> dist R O) (share : dist R I) (factor : I -> seq O -> O -> R).

Fixpoint wealth_after i (h w : seq O) : R :=
  if w is o :: w' then factor i h o * wealth_after i (rcons h o) w' else 1.
Definition wealth w : R := \sum_i share i * wealth_after i [::] w.

Theorem wealth_supermartingale :
  (forall i h o, 0 <= factor i h o) -> (forall i h, \sum_o round h o * factor i h o <= 1) ->
  supermartingale round wealth.
Proof.
move=> factor0 mean.
have step i w o : wealth_after i [::] (rcons w o) = wealth_after i [::] w * factor i w o.
  have gen : forall h, wealth_after i h (rcons w o) = wealth_after i h w * factor i (h ++ w) o.
    elim: w => [|u w IH] h /=; first by rewrite cats0 mulr1 mul1r.
    by rewrite IH cat_rcons mulrA.
  exact: gen.
have one0 i w : 0 <= wealth_after i [::] w.
  by elim/last_ind: w => [|w o IH]; [exact: ler01 | rewrite step mulr_ge0].
split=> [|h|h].
- by rewrite /wealth /=; under eq_bigr do rewrite mulr1; rewrite mass_sum.
- by apply: sumr_ge0 => i _; rewrite mulr_ge0 ?mass_ge0.
rewrite /wealth; under eq_bigr do rewrite mulr_sumr.
rewrite exchange_big /=; apply: ler_sum => i _.
rewrite (eq_bigr (fun o => share i * wealth_after i [::] h * (round h o * factor i h o))); last first.
  by move=> o _; rewrite step mulrCA mulrA mulrACA mulrA.
by rewrite -mulr_sumr; apply: ler_pimulr; [rewrite mulr_ge0 ?mass_ge0 | exact: mean].
Qed.

End Bettors.

Section Audit.
Variable R : realType.
Variables Y I : finType.
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

(** Bets against (e, d), of bettor [i] after the outcomes [h]: [u y] is how much the output [y] is said to speak for the
    first secret ([true]), [v y] for the other, at most [su] and [sv]. *)
Variables (d : R) (share : dist R I) (u v : R -> I -> seq outcome -> Y -> R) (su sv : R -> I -> seq outcome -> R).
Hypothesis u_bounds : forall e i h y, 0 <= u e i h y <= su e i h.
Hypothesis v_bounds : forall e i h y, 0 <= v e i h y <= sv e i h.

Definition bet e i h (o : outcome) : R :=
  1 + 2%:R * ((if o.1 then u e i h o.2 else v e i h o.2) - expR e * (if o.1 then v e i h o.2 else u e i h o.2))
  - d * (su e i h + sv e i h).

(** Nobody can lose more than there is. *)
Hypothesis bet_ge0 : forall e i h o, 0 <= bet e i h o.

Definition private e := forall h s, alike e d (mechanism h s) (mechanism h (~~ s)).

Lemma alike_scaled e (p q : dist R Y) (f : Y -> R) (top : R) :
  alike e d p q -> (forall y, 0 <= f y <= top) -> \sum_y p y * f y - expR e * (\sum_y q y * f y) <= d * top.
Proof.
move=> ok bounds; case: (pickP Y) => [y0 _|none]; last first.
  by have := mass_sum p; rewrite big1 => [/eqP|y]; [rewrite eq_sym oner_eq0 | have := none y].
have [f0 f1] := andP (bounds y0); have top0 : 0 <= top by exact: le_trans f0 f1.
have [topz|topn] := eqVneq top 0.
  have fz y : f y = 0 by apply/eqP; rewrite eq_le; have := bounds y; rewrite topz andbC.
  by rewrite topz !big1 ?mulr0 ?subrr // => y _; rewrite fz mulr0.
have toppos : 0 < top by rewrite lt_def topn.
have scale (r : dist R Y) : \sum_y r y * f y = top * \sum_y r y * (f y / top).
  by rewrite mulr_sumr; apply: eq_bigr => y _; rewrite mulrCA [top * _]mulrC divfK.
rewrite (scale p) (scale q) [expR e * _]mulrCA -mulrBr [d * top]mulrC ler_pmul2l // ler_subl_addl.
apply: alike_means => // y.
have /andP[y_0 y_1] := bounds y; by rewrite divr_ge0 //= ler_pdivr_mulr // mul1r.
Qed.

Lemma bet_mean e i h : private e -> \sum_o toss h o * bet e i h o <= 1.
Proof.
move=> priv; pose c := d * (su e i h + sv e i h).
pose F s y : R := bet e i h (s, y).
rewrite (eq_bigr (fun o => toss h o * F o.1 o.2)); last by case.
rewrite toss_mean ler_pdivr_mull ?ltr0n // mulr1.
have sideE (p : dist R Y) (a b : Y -> R) : \sum_y p y * (1 + 2%:R * (a y - expR e * b y) - c) =
    1 + 2%:R * (\sum_y p y * a y - expR e * \sum_y p y * b y) - c.
  rewrite -[X in _ = X + _ - _](mass_sum p) -[X in _ = _ - X]mulr1 -[X in _ = _ - _ * X](mass_sum p).
  rewrite [in RHS]mulr_sumr -sumrB !mulr_sumr -big_split -sumrB /=; apply: eq_bigr => y _.
  by rewrite mulrBr mulrDr mulr1 [p y * (2%:R * _)]mulrCA [p y * (_ - _)]mulrBr [p y * (expR e * _)]mulrCA
    [p y * c]mulrC.
rewrite (sideE _ (u e i h) (v e i h)) (sideE _ (v e i h) (u e i h)).
rewrite addrACA [1 + _ + (1 + _)]addrACA -mulrDr -opprD -[c + c]mulr2n -[c *+ 2]mulr_natl -addrA -mulrBr.
rewrite -[1 + 1]mulr2n ger_addl pmulr_rle0 ?ltr0n // subr_le0 addrACA [- _ + - _]addrC -addrACA /c mulrDr.
apply: ler_add; apply: alike_scaled => //; [exact: (priv h true) | exact: (priv h false)].
Qed.

Definition wealth_against e : seq outcome -> R := wealth share (bet e).

(** If the mechanism is (e, d) private, the wealth against it is [1 / alpha] or more at any time with a chance of at
    most [alpha]. *)
Theorem audit T e (alpha : R) : 0 < alpha -> private e ->
  pr (rounds toss T) [pred w : T.-tuple outcome | reached (wealth_against e) alpha^-1 w] <= alpha.
Proof.
move=> alpha0 priv; apply: ville alpha0; apply: wealth_supermartingale => [i h o|i h]; first exact: bet_ge0.
exact: bet_mean.
Qed.

(** A bound that is read at any time, from a grid of which [g] is a value at or above the true [e]: it is [g] or more
    only where the wealth against [g] has reached [1 / alpha]. So it ever is with a chance of at most [alpha], and no
    union is taken over the grid. *)
Corollary audit_bound T e g (alpha : R) (bound : seq outcome -> R) : 0 < alpha -> private e -> e <= g ->
  (forall w, g <= bound w -> reached (wealth_against g) alpha^-1 w) ->
  pr (rounds toss T) [pred w : T.-tuple outcome | [exists t : 'I_T.+1, g <= bound (take t w)]] <= alpha.
Proof.
move=> alpha0 priv eg ok.
have priv_g : private g by move=> h s; apply: alike_weaken (priv h s).
apply: le_trans (audit T alpha0 priv_g); apply: pr_sub => w /existsP[t le].
exact: reached_take (ok _ le).
Qed.

End Audit.
