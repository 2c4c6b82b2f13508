(** * Private tables: fill, any number of classes, any law of the records that are made up

    Class [a] has [g a] records, independent draws from [l a]; [s a] of it are handed on, where [s] is made from the
    noisy counts [G] alone. If there are more than [s a], some are kept; if there are fewer, the others are made up from
    [f a]. What one record more or less in a class changes is one place, and one step of the noise. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish noise records fill.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** One class: whichever records are kept, in whichever places, a place has the law [l] if it holds a record that was
    kept, and [f] if it holds one that was made up. *)
Theorem kept_or_made_up (R : realType) (V : finType) (l f : dist R V) (g G : nat)
    (s : {ffun 'I_G -> option 'I_g}) (y : {ffun 'I_G -> V}) : once s ->
  bind (independent l g) (fun x => image (filled s x) (independent f G)) y =
  \prod_i if s i is Some _ then l (y i) else f (y i).
Proof.
move=> once_s /=.
have inner (x : {ffun 'I_g -> V}) : \sum_(z : {ffun 'I_G -> V}) (\prod_i f (z i)) * (y == filled s x z)%:R =
    (\prod_i if s i is Some j then (y i == x j)%:R else 1) * (\prod_i if s i is Some _ then 1 else f (y i)).
  by rewrite -(fresh f s y) mulr_sumr; apply: eq_bigr => z _; rewrite filled_eq mulrCA.
under eq_bigr do rewrite inner mulrA.
rewrite -mulr_suml (kept l y once_s) -big_split /=; apply: eq_bigr => i _.
by case: (s i) => [j|]; rewrite ?mulr1 ?mul1r.
Qed.

Section FillClasses.
Variable R : realType.
Variables (V : finType) (m : nat) (b : R).
Hypothesis b0 : 0 < b.
Variables l f : 'I_m -> dist R V.

(** What is handed on: the noisy counts [G], and of each class [a] the records [y a j] in the places [j < s a], those
    that were kept before those that were made up. Any order of them is made from this without a look at [g]. *)
Variables (G : 'I_m -> int) (s : 'I_m -> nat) (y : 'I_m -> nat -> V).

(** The mass of this, if class [a] has [n] records: the noise has the scale [2 b] on every class
    ([clipped.noise_on_moves]). *)
Definition place a n j : R := if (j < n)%N then l a (y a j) else f a (y a j).
Definition class_mass a n : R := laplace (2%:R * b) (G a - n%:Z) * \prod_(j < s a) place a n j.
Definition filled_mass (C : R) (g : 'I_m -> nat) : R :=
  C * (\sum_a (G a - (g a)%:Z) == 0)%:R * \prod_a class_mass a (g a).

Let b2 : 0 < 2%:R * b. Proof. by rewrite mulr_gt0 ?ltr0n. Qed.

Let place0 a n j : 0 <= place a n j. Proof. by rewrite /place; case: ifP => _; exact: mass_ge0. Qed.

Let class0 a n : 0 <= class_mass a n.
Proof. by apply: mulr_ge0; [exact/ltW/laplace_gt0 | exact: prodr_ge0]. Qed.

Variables e e' : R.
Hypothesis close : forall a v, l a v <= expR e * f a v.
Hypothesis close' : forall a v, f a v <= expR e' * l a v.
Hypotheses (e0 : 0 <= e) (e'0 : 0 <= e').

(** One record more or less changes at most one place. *)
Let places a n :
  \prod_(j < s a) place a n j <= (if (n < s a)%N then expR e' else 1) * \prod_(j < s a) place a n.+1 j /\
  \prod_(j < s a) place a n.+1 j <= expR e * \prod_(j < s a) place a n j.
Proof.
have same (j : 'I_(s a)) : nat_of_ord j != n -> place a n.+1 j = place a n j.
  by move=> jn; rewrite /place ltnS leq_eqVlt (negbTE jn).
case: ltnP => ns; last first.
  have eq : \prod_(j < s a) place a n.+1 j = \prod_(j < s a) place a n j.
    by apply: eq_bigr => j _; apply: same; rewrite ltn_eqF // (leq_trans (ltn_ord j)).
  rewrite eq mul1r; split=> //; apply: ler_pemull; first exact: prodr_ge0.
  by rewrite -(@expR0 R) ler_expR.
pose i := Ordinal ns; pose rest := \prod_(j < s a | j != i) place a n j.
have -> : \prod_(j < s a) place a n j = f a (y a n) * rest by rewrite (bigD1 i) //= {1}/place ltnn.
have -> : \prod_(j < s a) place a n.+1 j = l a (y a n) * rest.
  by rewrite (bigD1 i) //= {1}/place ltnSn; congr (_ * _); apply: eq_bigr => j ji; apply: same.
have rest0 : 0 <= rest by exact: prodr_ge0.
by split; rewrite mulrA; apply: ler_wpmul2r.
Qed.

(** One record more costs [u], one less costs [1/(2b) + e]: [u] is [1/(2b) + e'] for any sizes, and the larger of
    [1/(2b)] and [e' - 1/(2b)] if no class is filled beyond its noisy count. *)
Let h : R := (2%:R * b)^-1.
Definition rule (u : R) := h + e' <= u \/ [/\ h <= u, e' - h <= u & forall a, (s a)%:Z <= Num.max 0 (G a)].

Let one_more a n u : rule u -> class_mass a n <= expR u * class_mass a n.+1.
Proof.
have [le _] := places a n.
have shift : laplace (2%:R * b) (G a - n%:Z) <= expR h * laplace (2%:R * b) (G a - n.+1%:Z).
  by have := @laplace_shift R _ b2 n%:Z n.+1%:Z (G a) 1; rewrite mul1r; apply; rewrite -addn1 PoszD opprD addrA subrr
    sub0r.
have l0 z : 0 <= laplace (2%:R * b) z by exact/ltW/laplace_gt0.
have p0 k : 0 <= \prod_(j < s a) place a k j by exact: prodr_ge0.
rewrite /class_mass mulrCA mulrA => -[le_u|[le_h le_e bound]].
  apply: le_trans (ler_pmul (l0 _) (p0 _) shift le) _; rewrite mulrACA [laplace _ _ * expR u]mulrC.
  rewrite -[X in _ <= X]mulrA; apply: ler_wpmul2r; first exact: mulr_ge0.
  apply: le_trans (_ : expR h * expR e' <= _); last by rewrite -expRD ler_expR.
  by rewrite ler_pmul2l ?expR_gt0 //; case: ifP => // _; rewrite -(@expR0 R) ler_expR.
move: le; case: ltnP => [ns|_] le; last first.
  apply: ler_pmul => //; last by move: le; rewrite mul1r.
  by apply: le_trans shift _; rewrite [X in _ <= X]mulrC; apply: ler_wpmul2r; rewrite ?ler_expR.
have nG : n.+1%:Z <= G a.
  have := bound a; rewrite le_maxr => /orP[|le_G]; last by apply: le_trans le_G; rewrite lez_nat.
  by rewrite lez_nat leqNgt (leq_ltn_trans (leq0n n) ns).
have -> : laplace (2%:R * b) (G a - n%:Z) = laplace (2%:R * b) (G a - n.+1%:Z) * expR (- h).
  have [d ->] : exists d : nat, G a = n%:Z + (1 + d%:Z).
    exists `|G a - n.+1%:Z|%N; rewrite gez0_abs ?subr_ge0 // addrA -[n%:Z + 1]/(Posz (n + 1)) addn1.
    by rewrite addrC subrK.
  have -> : n%:Z + (1 + d%:Z) - n%:Z = d.+1%:Z by rewrite addrAC subrr add0r.
  have -> : n%:Z + (1 + d%:Z) - n.+1%:Z = d%:Z.
    by rewrite addrA -[n%:Z + 1]/(Posz (n + 1)) addn1 addrAC subrr add0r.
  by rewrite /laplace -[RHS]mulrA -exprSr.
rewrite -[X in X <= _]mulrA -[X in _ <= X]mulrA; apply: ler_wpmul2l => //.
apply: le_trans (_ : expR (- h) * (expR e' * \prod_(j < s a) place a n.+1 j) <= _).
  by rewrite ler_pmul2l ?expR_gt0.
by rewrite mulrA -expRD; apply: ler_wpmul2r => //; rewrite ler_expR addrC.
Qed.

Let one_less a n : class_mass a n.+1 <= expR (h + e) * class_mass a n.
Proof.
have [_ le] := places a n.
have shift : laplace (2%:R * b) (G a - n.+1%:Z) <= expR h * laplace (2%:R * b) (G a - n%:Z).
  have := @laplace_shift R _ b2 n.+1%:Z n%:Z (G a) 1; rewrite mul1r; apply.
  by rewrite -addn1 PoszD addrAC subrr add0r.
rewrite /class_mass expRD mulrACA; apply: ler_pmul => //; first exact/ltW/laplace_gt0.
by apply: prodr_ge0 => j _; exact: place0.
Qed.

Let steps a u n n' : rule u ->
  class_mass a n <= expR ((n' - n)%:R * u + (n - n')%:R * (h + e)) * class_mass a n'.
Proof.
move=> ok; case: (leqP n n') => [le|/ltnW le]; rewrite (eqP le) mul0r ?addr0 ?add0r.
  rewrite -{2}(subnKC le); elim: (n' - n)%N => [|d IH]; first by rewrite addn0 mul0r expR0 mul1r.
  apply: le_trans IH _; rewrite -addn1 natrD mulrDl mul1r expRD -mulrA ler_pmul2l ?expR_gt0 // addn1 addnS.
  exact: one_more.
rewrite -{1}(subnKC le); elim: (n - n')%N => [|d IH]; first by rewrite addn0 mul0r expR0 mul1r.
have -> : expR (d.+1%:R * (h + e)) = expR (h + e) * expR (d%:R * (h + e)).
  by rewrite -expRD -add1n natrD mulrDl mul1r.
rewrite addnS -mulrA; apply: le_trans (one_less _ _) _.
by rewrite ler_pmul2l ?expR_gt0.
Qed.

(** Secrets at most [k] moves apart cost [k (u + 1/(2b) + e)]. *)
Theorem fill_classes (C u : R) (k : nat) (g g' : 'I_m -> nat) :
  0 <= C -> rule u -> (\sum_a g a = \sum_a g' a)%N -> (\sum_a `|(g a)%:Z - (g' a)%:Z| <= 2 * k)%N ->
  filled_mass C g <= expR (k%:R * (u + (h + e))) * filled_mass C g'.
Proof.
move=> C0 ok same near.
have sums : (\sum_a (g' a - g a) = \sum_a (g a - g' a))%N.
  apply/eqP; rewrite -(eqn_add2l (\sum_a g a)) -big_split same -big_split /=; apply/eqP; apply: eq_bigr => a _.
  by rewrite -!maxnE maxnC.
have moves : (\sum_a (g a - g' a) <= k)%N.
  rewrite -(leq_pmul2l (isT : (0 < 2)%N)) mul2n -addnn -{1}sums -big_split /=; apply: leq_trans near.
  rewrite leq_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => a _.
  case: (leqP (g a) (g' a)) => [le|/ltnW le]; first by rewrite distnEr // (eqP le) addn0.
  by rewrite distnEl // (eqP le).
have h0 : 0 < h by rewrite invr_gt0.
have u0 : 0 <= u.
  by case: ok => [|[le _ _]]; [apply: le_trans; rewrite addr_ge0 // ltW | apply: le_trans le; exact: ltW].
rewrite /filled_mass !sumrB -!(big_morph Posz PoszD (erefl 0%:Z)) same [X in _ <= X]mulrCA.
apply: ler_wpmul2l; first by rewrite mulr_ge0 ?ler0n.
apply: le_trans (_ : \prod_a (expR ((g' a - g a)%:R * u + (g a - g' a)%:R * (h + e)) * class_mass a (g' a)) <= _).
  by apply: ler_prod => a _; rewrite class0 /=; exact: steps.
rewrite big_split /= -(big_morph (@expR R) (@expRD R) (@expR0 R)); apply: ler_wpmul2r; first exact: prodr_ge0.
rewrite ler_expR big_split -!mulr_suml -!natr_sum /= sums -mulrDr; apply: ler_wpmul2r; last by rewrite ler_nat.
by rewrite !addr_ge0 // ltW.
Qed.

(** What the claim says: [k (e + max (1/b, e'))], if no class is filled beyond its noisy count; [k (1/b + e + e')] for
    any sizes. *)
Corollary fill_up_to_noisy_counts (C : R) (k : nat) (g g' : 'I_m -> nat) :
  0 <= C -> (forall a, (s a)%:Z <= Num.max 0 (G a)) -> (\sum_a g a = \sum_a g' a)%N ->
  (\sum_a `|(g a)%:Z - (g' a)%:Z| <= 2 * k)%N ->
  filled_mass C g <= expR (k%:R * (e + Num.max b^-1 e')) * filled_mass C g'.
Proof.
move=> C0 bound same near.
have hh : h + h = b^-1 by rewrite /h invfM -mulrDl -mulr2n -[2%:R^-1 *+ 2]mulr_natl mulfV ?mul1r ?pnatr_eq0.
have -> : e + Num.max b^-1 e' = (Num.max b^-1 e' - h) + (h + e) by rewrite addrA subrK addrC.
apply: fill_classes => //; right; split=> //; last by rewrite ler_sub // le_maxr lexx orbT.
by rewrite ler_subr_addl hh le_maxr lexx.
Qed.

Corollary fill_any_sizes (C : R) (k : nat) (g g' : 'I_m -> nat) :
  0 <= C -> (\sum_a g a = \sum_a g' a)%N -> (\sum_a `|(g a)%:Z - (g' a)%:Z| <= 2 * k)%N ->
  filled_mass C g <= expR (k%:R * (b^-1 + e + e')) * filled_mass C g'.
Proof.
move=> C0 same near.
have hh : h + h = b^-1 by rewrite /h invfM -mulrDl -mulr2n -[2%:R^-1 *+ 2]mulr_natl mulfV ?mul1r ?pnatr_eq0.
have -> : b^-1 + e + e' = (h + e') + (h + e) by rewrite -hh addrACA -!addrA; congr (_ + (_ + _)); rewrite addrC.
by apply: fill_classes => //; left.
Qed.

End FillClasses.

(** ** Which law to make records up from

    Of all laws [f] of one class, the one in proportion to the largest of the models' masses needs the least [exp e]:
    the sum of these largest masses. *)
Section LeastRatio.
Variable R : realType.
Variables (V Theta : finType) (l : Theta -> dist R V) (theta0 : Theta).

Definition largest v : R := l [arg max_(t > theta0) l t v]%O v.

Lemma largest_ge t v : l t v <= largest v.
Proof. by rewrite /largest; case: arg_maxP => // t' _; exact. Qed.

Lemma largest_sum : 0 < \sum_v largest v.
Proof.
apply: lt_le_trans ltr01 _; rewrite -(mass_sum (l theta0)); apply: ler_sum => v _; exact: largest_ge.
Qed.

Theorem least_ratio :
  (forall (f : dist R V) E, (forall t v, l t v <= E * f v) -> \sum_v largest v <= E) /\
  (exists f : dist R V, forall t v, l t v <= (\sum_v largest v) * f v).
Proof.
split=> [f E ok|].
  by rewrite -[E]mulr1 -(mass_sum f) mulr_sumr; apply: ler_sum => v _; exact: ok.
have S0 := largest_sum.
have f0 v : 0 <= largest v / \sum_v largest v.
  by rewrite divr_ge0 ?(ltW S0) //; apply: le_trans (largest_ge theta0 v); exact: mass_ge0.
have f1 : \sum_v (largest v / \sum_v largest v) = 1 by rewrite -mulr_suml mulfV // lt0r_neq0.
exists (Dist f0 f1) => t v /=; rewrite mulrCA mulfV ?lt0r_neq0 // mulr1; exact: largest_ge.
Qed.

End LeastRatio.

(** ** By total variation

    Places of which each has a law of its own. Where two lists of laws differ in the places [J] only, and there by at
    most [eta] in total variation, all places together differ by at most [eta] for each of them. *)
Section Variation.
Variable R : realType.
Variables (V : finType) (n : nat).
Notation table := {ffun 'I_n -> V}.

Definition at_places (L : 'I_n -> dist R V) : dist R [finType of table].
Proof.
refine (@Dist R _ (fun y : table => \prod_j L j (y j)) _ _).
- by move=> y; apply: prodr_ge0 => j _; exact: mass_ge0.
- rewrite -(bigA_distr_bigA (fun (j : 'I_n) v => L j v)) /= big1 // => j _; exact: mass_sum.
Defined.

Lemma one_place (L L' : 'I_n -> dist R V) j eta :
  (forall i, i != j -> L i =1 L' i) -> alike 0 eta (L j) (L' j) -> alike 0 eta (at_places L) (at_places L').
Proof.
move=> same close B; rewrite expR0 mul1r.
case: (pickP V) => [v0 _|none]; last first.
  by have := mass_sum (L j); rewrite big1 => [/eqP|v]; [rewrite eq_sym oner_eq0 | have := none v].
pose rest (y : table) := \prod_(i | i != j) L i (y i).
have placeE (K : 'I_n -> dist R V) y v : (forall i, i != j -> K i =1 L i) ->
    at_places K (change y j v) = K j v * rest y.
  move=> sameK; rewrite /= (bigD1 j) //= changeE eqxx; congr (_ * _).
  by apply: eq_bigr => i ij; rewrite changeE (negbTE ij) sameK.
have sumE (K : 'I_n -> dist R V) (w : table -> R) : (forall i, i != j -> K i =1 L i) ->
    \sum_y at_places K y * w y = \sum_(y : table | y j == v0) rest y * \sum_v K j v * w (change y j v).
  move=> sameK; rewrite (sum_change v0 j); apply: eq_bigr => y _; rewrite mulr_sumr; apply: eq_bigr => v _.
  by rewrite placeE // mulrCA mulrA.
have rest0 y : 0 <= rest y by apply: prodr_ge0 => i _; exact: mass_ge0.
have rest1 : \sum_(y : table | y j == v0) rest y = 1.
  have := sumE L (fun=> 1) (fun i _ => fun=> erefl); under eq_bigr do rewrite mulr1.
  rewrite mass_sum => ->; apply: eq_bigr => y _.
  by under eq_bigr do rewrite mulr1; rewrite mass_sum mulr1.
have prE (p : dist R [finType of table]) : pr p B = \sum_y p y * (B y)%:R.
  by rewrite /pr big_mkcond; apply: eq_bigr => y _; case: (B y); rewrite ?mulr1 ?mulr0.
rewrite !prE (sumE L) // (sumE L'); last by move=> i ij v; rewrite same.
rewrite -[X in _ <= _ + X]mulr1 -[X in _ <= _ + _ * X]rest1 mulr_sumr -big_split /=; apply: ler_sum => y _.
rewrite [eta * _]mulrC -mulrDr; apply: ler_wpmul2l => //.
have := alike_means close (w := fun v => (B (change y j v))%:R); rewrite expR0 mul1r; apply => v.
by rewrite ler0n lern1 leq_b1.
Qed.

Theorem several_places (L L' : 'I_n -> dist R V) (J : {set 'I_n}) eta :
  (forall i, i \notin J -> L i =1 L' i) -> (forall j, j \in J -> alike 0 eta (L j) (L' j)) ->
  alike 0 (#|J|%:R * eta) (at_places L) (at_places L').
Proof.
move: {2}#|J| (erefl #|J|) => k; elim: k J L => [|k IH] J L Jk same close.
  rewrite Jk mul0r => B; rewrite expR0 mul1r addr0 le_eqVlt; apply/orP; left; apply/eqP.
  apply: eq_bigr => y _; apply: eq_bigr => i _; apply: same; by move/eqP: Jk; rewrite cards_eq0 => /eqP->; rewrite inE.
have [j jJ] : exists j, j \in J by apply/set0Pn; rewrite -card_gt0 Jk.
pose L1 i := if i == j then L' i else L i.
have first : alike 0 eta (at_places L) (at_places L1).
  apply: (@one_place _ _ j) => [i /negbTE ij v|]; first by rewrite /L1 ij.
  by rewrite /L1 eqxx; exact: close.
have card1 : #|J :\ j| = k by move: Jk; rewrite (cardsD1 j) jJ => -[].
have rest : alike 0 (#|J :\ j|%:R * eta) (at_places L1) (at_places L').
  apply: IH => // [i|i]; rewrite !inE; last by case/andP => /negbTE ij iJ; rewrite /L1 ij; exact: close.
  by rewrite negb_and negbK /L1; case: eqP => //= _ iJ; exact: same.
move=> B; have := rest B; rewrite card1 Jk expR0 !mul1r => le.
have := first B; rewrite expR0 mul1r => /le_trans; apply.
by rewrite -[k.+1]addn1 natrD mulrDl mul1r addrA ler_add2r.
Qed.

(** So with the noisy counts: [p] and [p'] are their distributions, and given counts the tables differ in [D] places. *)
Theorem fill_variation (C : finType) (p p' : dist R C) (L L' : C -> 'I_n -> dist R V) (J : C -> {set 'I_n})
    (D : nat) (eps eta : R) :
  0 <= eta -> alike eps 0 p p' -> (forall G, #|J G| <= D)%N -> (forall G i, i \notin J G -> L G i =1 L' G i) ->
  (forall G j, j \in J G -> alike 0 eta (L G j) (L' G j)) ->
  alike eps (D%:R * eta) (bind p (fun G => image (pair G) (at_places (L G))))
    (bind p' (fun G => image (pair G) (at_places (L' G)))).
Proof.
move=> eta0 counts few same close B.
have near : alike 0 (D%:R * eta) (bind p (fun G => image (pair G) (at_places (L G))))
    (bind p (fun G => image (pair G) (at_places (L' G)))).
  apply: alike_bind => G; apply: post_processing.
  apply: alike_weaken (several_places (same G) (close G)) => //.
  by apply: ler_wpmul2r => //; rewrite ler_nat.
have := near B; rewrite expR0 mul1r => /le_trans; apply; rewrite ler_add2r.
by have := post_processing (fun G => image (pair G) (at_places (L' G))) counts B; rewrite addr0.
Qed.

End Variation.
