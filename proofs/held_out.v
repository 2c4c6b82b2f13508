(** * Models that were not drawn, by draws held out

    [M] models are drawn independently from a posterior [pi], apart from those that a calibration was fitted to;
    [broken] are the models under which the calibration does not keep its promise. How many of the draws are broken
    bounds the share of all models that are. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

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
