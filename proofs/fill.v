(** * Private tables: shift and fill

    The table has [g] records of the class and [n - g] others, independent given their class. [G] of the one and [n -
    G] of the other are handed on: surplus records are left out, by a choice that does not look at them, and missing
    ones are drawn from the declared distribution of one record given its class. What is handed on, given the noisy
    count [G], does not depend on [g]; so it is as private as the noisy count. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish clipped.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Fill.
Variable R : realType.
Variable V : finType.

(** [m] independent records. *)
Definition independent (l : dist R V) m : dist R [finType of {ffun 'I_m -> V}].
Proof.
refine (@Dist R _ (fun x : {ffun 'I_m -> V} => \prod_j l (x j)) _ _).
- by move=> x; apply: prodr_ge0 => j _; exact: mass_ge0.
- rewrite -(bigA_distr_bigA (fun (_ : 'I_m) t => l t)) /= big1 // => j _; exact: mass_sum.
Defined.

Section OneClass.
Variables (l : dist R V) (g G : nat).

(** Place [i] of what is handed on gets the record that [s i] names, or a fresh one. No record is used twice. *)
Notation plan := {ffun 'I_G -> option 'I_g}.
Definition once (s : plan) := forall i i' j, s i = Some j -> s i' = Some j -> i = i'.
Definition filled (s : plan) (x : {ffun 'I_g -> V}) (z : {ffun 'I_G -> V}) : {ffun 'I_G -> V} :=
  [ffun i => if s i is Some j then x j else z i].

Lemma by_record (s : plan) (F : 'I_G -> 'I_g -> R) :
  \prod_i (if s i is Some j then F i j else 1) = \prod_j \prod_(i | s i == Some j) F i j.
Proof.
under [RHS]eq_bigr do rewrite big_mkcond /=.
rewrite exchange_big /=; apply: eq_bigr => i _; case: (s i) => [j|]; last by rewrite big1.
rewrite (bigD1 j) //= eqxx big1 ?mulr1 // => j' jj'; case: eqP => // -[same].
by move: jj'; rewrite same eqxx.
Qed.

Lemma sum_delta (w : V) : \sum_v l v * (w == v)%:R = l w.
Proof.
by rewrite (bigD1 w) //= eqxx mulr1 big1 ?addr0 // => v vw; rewrite eq_sym (negbTE vw) mulr0.
Qed.

Lemma fresh (s : plan) (y : {ffun 'I_G -> V}) :
  \sum_(z : {ffun 'I_G -> V}) (\prod_i l (z i)) * (\prod_i if s i is Some _ then 1 else (y i == z i)%:R) =
  \prod_i if s i is Some _ then 1 else l (y i).
Proof.
rewrite (eq_bigr (fun z : {ffun 'I_G -> V} =>
  \prod_i (l (z i) * (if s i is Some _ then 1 else (y i == z i)%:R)))); last by move=> z _; rewrite big_split.
rewrite -(bigA_distr_bigA (fun i v => l v * (if s i is Some _ then 1 else (y i == v)%:R))) /=.
apply: eq_bigr => i _; case: (s i) => [j|]; last exact: sum_delta.
by under eq_bigr do rewrite mulr1; rewrite mass_sum.
Qed.

Lemma kept (s : plan) (y : {ffun 'I_G -> V}) : once s ->
  \sum_(x : {ffun 'I_g -> V}) (\prod_j l (x j)) * (\prod_i if s i is Some j then (y i == x j)%:R else 1) =
  \prod_i if s i is Some _ then l (y i) else 1.
Proof.
move=> once_s; rewrite (eq_bigr (fun x : {ffun 'I_g -> V} =>
  \prod_j (l (x j) * (\prod_(i | s i == Some j) (y i == x j)%:R)))); last first.
  by move=> x _; rewrite (by_record s (fun i j => (y i == x j)%:R)) big_split.
rewrite -(bigA_distr_bigA (fun j v => l v * (\prod_(i | s i == Some j) (y i == v)%:R))) /=.
rewrite (by_record s (fun i _ => l (y i))); apply: eq_bigr => j _.
case: (pickP [pred i | s i == Some j]) => [i /= /eqP ij|none]; last first.
  rewrite [RHS]big_pred0 //; under eq_bigr do rewrite big_pred0 // mulr1.
  exact: mass_sum.
have only : (fun i' => s i' == Some j) =1 pred1 i.
  move=> i' /=; apply/eqP/eqP => [i'j|-> //]; exact: once_s i'j ij.
by rewrite [RHS](big_pred1 _ only); under eq_bigr do rewrite (big_pred1 _ only); exact: sum_delta.
Qed.

Lemma filled_eq (s : plan) (x : {ffun 'I_g -> V}) (y z : {ffun 'I_G -> V}) : (y == filled s x z)%:R =
  (\prod_i if s i is Some j then (y i == x j)%:R else 1) *
  (\prod_i if s i is Some _ then 1 else (y i == z i)%:R) :> R.
Proof.
rewrite -big_split /=; case: eqP => [->|ne].
  by rewrite big1 // => i _; rewrite ffunE; case: (s i) => [j|]; rewrite eqxx mulr1.
case: (pickP [pred i | y i != filled s x z i]) => [i /= ni|all]; last first.
  by case: ne; apply/ffunP => i; have /negbFE/eqP := all i.
rewrite (bigD1 i) //=; move: ni; rewrite ffunE.
by case: (s i) => [j|] /negbTE->; rewrite ?mulr0 ?mul0r.
Qed.

Lemma filled_plan (s : plan) : once s ->
  bind (independent l g) (fun x => image (filled s x) (independent l G)) =1 independent l G.
Proof.
move=> once_s y /=.
have inner (x : {ffun 'I_g -> V}) : \sum_(z : {ffun 'I_G -> V}) (\prod_i l (z i)) * (y == filled s x z)%:R =
    (\prod_i if s i is Some j then (y i == x j)%:R else 1) * (\prod_i if s i is Some _ then 1 else l (y i)).
  rewrite -(fresh s y) mulr_sumr; apply: eq_bigr => z _.
  by rewrite filled_eq mulrCA.
under eq_bigr do rewrite inner mulrA.
rewrite -mulr_suml kept // -big_split /=; apply: eq_bigr => i _.
by case: (s i) => [j|]; rewrite ?mulr1 ?mul1r.
Qed.

(** The plan is drawn too, without looking at the records. *)
Definition fill (plans : dist R [finType of plan]) : dist R [finType of {ffun 'I_G -> V}] :=
  bind (independent l g) (fun x => bind plans (fun s => image (filled s x) (independent l G))).

Theorem filled_law (plans : dist R [finType of plan]) :
  (forall s, plans s != 0 -> once s) -> fill plans =1 independent l G.
Proof.
move=> ok y; rewrite -[RHS]mul1r -(mass_sum plans) mulr_suml /=.
under eq_bigr do rewrite mulr_sumr.
rewrite exchange_big /=; apply: eq_bigr => s _.
under eq_bigr do rewrite mulrCA; rewrite -mulr_sumr.
have [->|s0] := eqVneq (plans s) 0; first by rewrite !mul0r.
congr (_ * _); exact: (filled_plan (ok _ s0) y).
Qed.

End OneClass.

(** Both classes, and any way to put the records together (in a random order, say). *)
Variables (U : finType) (n : nat) (l1 l0 : dist R V).
Variable plans1 : forall g G : 'I_n.+2, dist R [finType of {ffun 'I_G -> option 'I_g}].
Variable plans0 : forall g G : 'I_n.+2, dist R [finType of {ffun 'I_(n.+1 - G) -> option 'I_(n.+1 - g)}].
Variable together : forall G : 'I_n.+2, {ffun 'I_G -> V} -> {ffun 'I_(n.+1 - G) -> V} -> dist R U.
Hypothesis once1 : forall g G s, plans1 g G s != 0 -> once s.
Hypothesis once0 : forall g G s, plans0 g G s != 0 -> once s.

Definition handed_on (g G : 'I_n.+2) : dist R U :=
  bind (fill l1 (plans1 g G)) (fun x => bind (fill l0 (plans0 g G)) (fun y => together x y)).

Lemma handed_on_free g g' G : handed_on g G =1 handed_on g' G.
Proof.
move=> u; rewrite /handed_on /bind /=; apply: eq_bigr => x _; congr (_ * _).
  by have := filled_law l1 (@once1 g G) x; have := filled_law l1 (@once1 g' G) x => /= -> ->.
apply: eq_bigr => y _; congr (_ * _).
by have := filled_law l0 (@once0 g G) y; have := filled_law l0 (@once0 g' G) y => /= -> ->.
Qed.

(** The noisy count and the table together, for secrets at most [k] apart: noise of scale [k / eps]. *)
Theorem private_table_fill (b eps : R) (k : nat) (g g' : 'I_n.+2) (b0 : 0 < b) :
  (`|g%:Z - g'%:Z| <= k)%N -> k%:R <= b * eps ->
  alike eps 0 (bind (clipped b0 g) (fun G => image (pair G) (handed_on g G)))
              (bind (clipped b0 g') (fun G => image (pair G) (handed_on g' G))).
Proof. by move=> near le; apply: (shift_and_fill b0 near le) => G; exact: handed_on_free. Qed.

End Fill.
