(** * Models that were not drawn, by draws held out

    [M] models are drawn independently from a posterior [pi], apart from those that a calibration was fitted to;
    [broken] are the models under which the calibration does not keep its promise. How many of the draws are broken
    bounds the share of all models that are. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import topology normedtype derive reals sequences exp.
From bnpriv Require Import distributions.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section Roots.
Variable R : realType.

Lemma log_ge (t : R) : 0 < t -> t <= 1 -> 1 - t <= ln t^-1.
Proof.
move=> t0 t1; pose y := ln t^-1.
have tE : t = expR (- y) by rewrite /y lnV ?posrE // opprK lnK ?posrE.
have y0 : 0 <= y by rewrite /y -ler_expR expR0 lnK ?posrE ?invr_gt0 // invf_ge1.
have y0' : - y <= 0 by rewrite oppr_le0.
have [|z zin zE] := @MVT_segment R (@expR R) (@expR R) (- y) 0 y0' (fun x _ => is_derive_expR x).
  by apply: continuous_subspaceT => x; exact: continuous_expR.
have z0 : z <= 0 by move: zin; rewrite in_itv /= => /andP[].
move: zE; rewrite expR0 -tE opprK add0r => ->.
by apply: ler_pimull => //; rewrite -expR0 ler_expR.
Qed.

(** The root that the limit of [M] draws asks for, [1 - beta^(1/M)], is at most [log (1/beta) / M]; [t] is
    [beta^(1/M)]. *)
Theorem root_at_most_log (M : nat) (beta t : R) :
  (0 < M)%N -> 0 < t -> t <= 1 -> t ^+ M = beta -> 1 - t <= ln beta^-1 / M%:R.
Proof.
move=> M0 t0 t1 <-; rewrite ler_pdivl_mulr ?ltr0n // -exprVn lnX ?invr_gt0 // -[ln _ *+ _]mulr_natr.
by apply: ler_wpmul2r; rewrite ?ler0n // log_ge.
Qed.

End Roots.

Section HeldOut.
Variable R : realType.
Variables (T : finType) (pi : dist R T) (M : nat).
Notation sample := {ffun 'I_M -> T}.

Definition draws : dist R [finType of sample].
Proof.
refine (@Dist R _ (fun x : sample => \prod_j pi (x j)) _ _).
- by move=> x; apply: prodr_ge0 => j _; exact: mass_ge0.
- rewrite -(bigA_distr_bigA (fun (_ : 'I_M) t => pi t)) /= big1 // => j _; exact: mass_sum.
Defined.

(** The chance that no draw is broken: [(1 - p)^M] for a share [p] of broken models. *)
Theorem none_broken (broken : pred T) :
  pr draws [pred x : sample | [forall j, ~~ broken (x j)]] = (1 - pr pi broken) ^+ M.
Proof.
rewrite -pr_not -[in RHS](card_ord M) -prodr_const.
rewrite /pr (bigA_distr_big (fun t => ~~ broken t)) /=; apply: eq_bigl => x.
by apply/forallP/ffun_onP => h j; have := h j.
Qed.

(** So no draw is broken with a chance of at most [beta] if the share is [1 - beta^(1/M)] or more; [t] is the root. *)
Theorem none_broken_root (broken : pred T) (beta t : R) :
  0 <= t -> t ^+ M = beta -> 1 - t <= pr pi broken ->
  pr draws [pred x : sample | [forall j, ~~ broken (x j)]] <= beta.
Proof.
move=> t0 <- le; rewrite none_broken; apply: ler_expn2r; rewrite ?nnegrE //.
  by rewrite subr_ge0 pr_le1.
by rewrite ler_subl_addl addrC -ler_subl_addl.
Qed.

(** The same limit without a root: enough is a share of [log (1/beta) / M]. *)
Corollary none_broken_log (broken : pred T) (beta : R) :
  (0 < M)%N -> 0 < beta -> beta <= 1 -> ln beta^-1 / M%:R <= pr pi broken ->
  pr draws [pred x : sample | [forall j, ~~ broken (x j)]] <= beta.
Proof.
move=> M0 beta0 beta1; set c := ln beta^-1 / M%:R => le.
have rootE : expR (- c) ^+ M = beta.
  by rewrite -expRMm mulrN /c mulrCA mulfV ?pnatr_eq0 -?lt0n // mulr1 lnV ?posrE // opprK lnK ?posrE.
have c0 : 0 <= c by apply: divr_ge0; rewrite ?ler0n // ln_ge0 // invf_ge1.
apply: (@none_broken_root broken beta (expR (- c)) (ltW (expR_gt0 _)) rootE).
apply: le_trans le; apply: root_at_most_log => //; rewrite ?expR_gt0 //.
by rewrite -(@expR0 R) ler_expR oppr_le0.
Qed.

(** The upper limit of Clopper and Pearson, for any number of broken draws: it is below the share of broken models only
    where so few broken draws have a chance below [gamma], and that happens with a chance of at most [gamma]. *)
Definition number (broken : pred T) (x : sample) : nat := (\sum_j broken (x j))%N.
Definition at_most broken b : R := pr draws [pred y | number broken y <= b]%N.

Theorem clopper_pearson (broken : pred T) (gamma : R) :
  0 <= gamma -> pr draws [pred x | at_most broken (number broken x) < gamma] <= gamma.
Proof.
move=> g0; case: (pickP [pred x | at_most broken (number broken x) < gamma]) => [x0 x0A|none]; last first.
  by rewrite /pr big_pred0.
have [z /= zA most] := @arg_maxnP _ x0 [pred x | at_most broken (number broken x) < gamma] (number broken) x0A.
apply: le_trans (ltW zA); apply: pr_sub => x xA; exact: most.
Qed.

(** The best of [k] calibrations, each at [gamma = beta / k]. *)
Theorem clopper_pearson_best k (broken : 'I_k -> pred T) (gamma : R) :
  0 <= gamma ->
  pr draws [pred x | [exists i, at_most (broken i) (number (broken i) x) < gamma]] <= k%:R * gamma.
Proof.
move=> g0; apply: le_trans (_ : \sum_(i < k) gamma <= _); last by rewrite sumr_const card_ord mulr_natl.
apply: le_trans (ler_sum _ (fun i _ => clopper_pearson (broken i) g0)).
rewrite /pr big_mkcond /=; under [X in _ <= X]eq_bigr do rewrite big_mkcond /=.
rewrite exchange_big /=; apply: ler_sum => x _.
have ge0 i : 0 <= if at_most (broken i) (number (broken i) x) < gamma then \prod_j pi (x j) else 0.
  by case: ifP => // _; apply: prodr_ge0 => j _; exact: mass_ge0.
case: ifP => [/existsP[i iA]|_]; last exact: sumr_ge0.
by rewrite (bigD1 i) //= iA ler_addl; apply: sumr_ge0.
Qed.

End HeldOut.
