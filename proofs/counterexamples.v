(** * What is false

    The first rule for trimmed tables took [delta] to be the chance that the noise is beyond [c], not beyond [c - k].
    One case refutes it: [c = k = 1], [eps = log 4], discrete Laplace noise of scale [k / eps].

    A published theorem on normal laws that stand for others (Zhang, Ohrimenko, Cummings, "Attribute Privacy", theorem
    3) loses a part of delta; two pairs of coins refute it. What holds in its place is [pufferfish.alike_stand_ins]. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish noise tables.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Counterexample.
Variable R : realType.

Let eps : R := ln 4%:R.
Let b : R := eps^-1.
Let noise : int -> R := laplace b.

Lemma eps_gt0 : 0 < eps.
Proof. by rewrite -ltr_expR expR0 lnK ?posrE ?ltr0n // ltr1n. Qed.

Lemma b_gt0 : 0 < b. Proof. by rewrite invr_gt0 eps_gt0. Qed.

Lemma exp_eps : expR eps = 4%:R. Proof. by rewrite lnK ?posrE ?ltr0n. Qed.

Lemma q_quarter : expR (- b^-1) = ratr 4%:Q^-1 :> R.
Proof. by rewrite invrK expRN exp_eps fmorphV /= ratr_nat. Qed.

(** The masses of the noise: 3/5, and a quarter of it for every step. *)
Definition noise_rat (z : int) : rat := 3%:Q / 5%:Q * 4%:Q^-1 ^+ `|z|%N.

Lemma noiseE z : noise z = ratr (noise_rat z).
Proof.
rewrite /noise /laplace q_quarter /noise_rat rmorphM rmorphX /=; congr (_ * _).
have -> : 3%:Q / 5%:Q = (1 - 4%:Q^-1) / (1 + 4%:Q^-1) by exact/eqP.
by move: (4%:Q^-1) => u; rewrite fmorph_div /= rmorphB rmorphD /= rmorph1.
Qed.

(** The tables made from the noisy count -1 are the event. *)
Let event (G : int) : bool := G == - 1.

Definition within_rat (w : nat) : rat := \sum_(i < 3 | (`|step (c := 1) i| <= w)%N) noise_rat (step (c := 1) i).
Definition trimmed_rat (g : int) : rat :=
  \sum_(i < 3) noise_rat (step (c := 1) i) * (event (g + step (c := 1) i))%:R + (1 - within_rat 1) * 0%:R.

Lemma withinE w : within noise 1 w = ratr (within_rat w).
Proof. by rewrite rmorph_sum /=; apply: eq_bigr => i _; rewrite noiseE. Qed.

Lemma trimmedE g : trimmed noise 1 (fun G => (event G)%:R) false g = ratr (trimmed_rat g).
Proof.
rewrite /trimmed withinE /trimmed_rat rmorphD rmorphM rmorphB /= rmorph1 !ratr_nat; congr (_ + _).
by rewrite rmorph_sum /=; apply: eq_bigr => i _; rewrite rmorphM noiseE /= ratr_nat.
Qed.

(** The numbers: chances 3/20 and 0 of the event, 1/10 that the noise is beyond [c], 2/5 that it is beyond [c - k]. *)
Lemma numbers :
  [/\ trimmed_rat 0 = 3%:Q / 20%:Q, trimmed_rat 1 = 0,
      1 - within_rat 1 = 1%:Q / 10%:Q & 1 - within_rat 0 = 2%:Q / 5%:Q].
Proof.
rewrite /trimmed_rat /within_rat ![\sum_(i < 3 | _) _]big_mkcond /= !big_ord_recl !big_ord0.
by split; apply/eqP; vm_compute.
Qed.

(** All hypotheses of [trim] hold, and the conclusion with the smaller [delta] is false. *)
Theorem wrong_trim : exists (h : int -> R) (e : R) (c k : nat) (g g' : int) (events : int -> R),
  [/\ [/\ (k <= c)%N, (`|g - g'| <= k)%N & within h c c <= 1],
      [/\ 0 <= e, forall z, 0 <= h z & forall z z', (`|z - z'| <= k)%N -> h z <= expR e * h z'],
      forall G, 0 <= events G <= 1 &
      ~~ (trimmed h c events false g <= expR e * trimmed h c events false g' + (1 - within h c c))].
Proof.
have [t0 t1 w1 _] := numbers.
exists noise, eps, 1%N, 1%N, 0, 1, (fun G => (event G)%:R); split.
- split=> //; rewrite withinE -(rmorph1 (ratr_rmorphism R)) ler_rat.
  by rewrite -subr_ge0 w1.
- split; first exact/ltW/eps_gt0.
    by move=> z; apply/ltW/laplace_gt0/b_gt0.
  move=> z z' near; have near' : (`|(- z) - (- z')| <= 1)%N by rewrite opprK addrC distnC.
  by have := laplace_shift b_gt0 0 near'; rewrite !sub0r !opprK mul1r invrK.
- by move=> G; rewrite ler0n lern1 leq_b1.
- rewrite !trimmedE withinE t0 t1 exp_eps rmorph0 mulr0 add0r -(rmorph1 (ratr_rmorphism R)) -rmorphB /= w1.
  by rewrite ler_rat.
Qed.

End Counterexample.

(** ** Laws that stand for others

    The theorem takes stand-ins [ga], [gb] of the laws [fa], [fb] of the answer. From [(lambda, eta)]-closeness of each
    law and its stand-in, in both directions, and (eps, delta) of the stand-ins, it concludes [(eps + 2 lambda, exp
    lambda * delta + eta)] of the laws. Its proof uses nothing else of the laws, so a case with two outputs refutes the
    step.

    The outputs stand for those of normal laws of which only is told whether they are beyond a bound: N(1/2, 1) is
    beyond 1.2816 with chance .217, N(0, 1) with chance .1; here 1/5 and 1/10. [fa] is its stand-in, and [fb] is never
    beyond the bound. Telling less keeps each hypothesis ([post_processing]), so what is lost here was lost before.
    That the chances are about those of normal laws is not proved here; the theorem does not use it. *)
Section StandIns.
Variable R : realType.

(** A coin of a rational chance, which has to lie between 0 and 1. *)
Definition coin (p : rat) (p01 : 0 <= p <= 1) : dist R bool_finType.
Proof.
refine (@Dist R _ (fun b : bool => ratr (if b then p else 1 - p)) _ _).
- by have /andP[p0 p1] := p01; case; rewrite ler0q // subr_ge0.
- by rewrite big_bool /= -rmorphD /= addrC subrK rmorph1.
Defined.

Lemma pr_coin p (p01 : 0 <= p <= 1) B : pr (coin p01) B = ratr ((B true)%:R * p + (B false)%:R * (1 - p)).
Proof.
rewrite /pr big_mkcond big_bool /=.
by case: (B true); case: (B false); rewrite ?mul1r ?mul0r ?addr0 ?add0r ?rmorph0 ?(rmorphD (ratr_rmorphism R)).
Qed.

(** Four inequalities of rational numbers make coins alike, for every [E] below [exp e]. *)
Lemma alike_coins (e : R) (E d p q : rat) (p01 : 0 <= p <= 1) (q01 : 0 <= q <= 1) :
  ratr E <= expR e -> [&& 0 <= d, p <= E * q + d, 1 - p <= E * (1 - q) + d & 1 <= E + d] ->
  alike e (ratr d) (coin p01) (coin q01).
Proof.
move=> Ee /and4P[d0 yes no all_] B; apply: le_trans (_ : ratr E * pr (coin q01) B + ratr d <= _); last first.
  by rewrite ler_add2r; apply: ler_wpmul2r Ee; exact: pr_ge0.
rewrite !pr_coin -rmorphM -rmorphD ler_rat.
by case: (B true); case: (B false); rewrite ?mul1r ?mul0r ?addr0 ?add0r ?mulr0 ?add0r //
  ?[_ + (1 - _)]addrC ?subrK ?mulr1.
Qed.

Theorem wrong_stand_ins : exists (eps delta lambda eta : R) (fa fb ga gb : dist R bool_finType),
  [/\ [/\ 0 < eps, 0 < delta, 0 <= lambda & 0 < eta],
      [/\ alike lambda eta fa ga, alike lambda eta ga fa, alike lambda eta fb gb & alike lambda eta gb fb],
      alike eps delta ga gb /\ alike eps delta gb ga &
      ~ alike (eps + 2%:R * lambda) (expR lambda * delta + eta) fa fb].
Proof.
have pa : 0 <= 5%:Q^-1 <= 1 by vm_compute.
have pb : 0 <= 10%:Q^-1 <= 1 by vm_compute.
have p0 : 0 <= (0 : rat) <= 1 by vm_compute.
have E2 : ratr 2%:Q <= expR 1 :> R.
  by rewrite ratr_nat mulr2n; exact: expR_ge1Dx ler01.
have E1 : ratr 1 <= expR 0 :> R by rewrite expR0 rmorph1.
exists 1, (ratr 20%:Q^-1), 0, (ratr 10%:Q^-1), (coin pa), (coin p0), (coin pa), (coin pb); split.
- by split; rewrite ?ltr01 ?lexx ?ltr0q ?invr_gt0 ?ltr0z.
- split; apply: alike_coins E1 _; by vm_compute.
- split; apply: alike_coins E2 _; by vm_compute.
move=> /(_ id); rewrite !pr_coin /= !mul0r !mul1r !addr0 rmorph0 mulr0 add0r expR0 mul1r.
by rewrite -(rmorphD (ratr_rmorphism R)) /= ler_rat; vm_compute.
Qed.

End StandIns.
