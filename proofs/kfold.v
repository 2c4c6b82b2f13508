(** * The rule for k records together

    Records are independent draws from [l]; the secret is how many are in the class [U]. [m x] is the chance of an
    event of the output when the table is [x]. If drawing any [k] records from within the class, and drawing them from
    outside, makes (e, d)-alike chances whatever the other records are, then so do secrets [k] apart. Nothing depends
    on the number of records. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions records.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section KFold.
Variable R : realType.
Variables (V : finType) (n : nat) (l : dist R V) (U : pred V).
Notation table := {ffun 'I_n -> V}.
Implicit Types (x y z : table) (J : {set 'I_n}) (m : table -> R).

(** The table [y], the records [J] of which are those of [z]. *)
Definition merge J y z : table := [ffun i => if i \in J then z i else y i].

Definition all_on J (b : bool) x := [forall i, (i \in J) ==> (U (x i) == b)].

(** The mean of [m] when the records [J] are drawn from one side of the class; not yet divided by the chance of that.
    *)
Definition block J y (b : bool) m : R := \sum_(z : table | all_on J b z) weight l z * m (merge J y z).

(** Of [k] records together: both sides are multiplied by the chances of both sides of the class. *)
Definition k_records (b : bool) k e d m := forall J y, #|J| = k ->
  block J y b m * side l U (~~ b) ^+ k <=
  expR e * (block J y (~~ b) m * side l U b ^+ k) + d * (side l U b ^+ k * side l U (~~ b) ^+ k).

Lemma weight_ge0 x : 0 <= weight l x.
Proof. by apply: prodr_ge0 => j _; exact: mass_ge0. Qed.

Lemma weight_sum : \sum_(x : table) weight l x = 1.
Proof.
rewrite -(bigA_distr_bigA (fun (_ : 'I_n) t => l t)) /= big1 // => j _; exact: mass_sum.
Qed.

(** A table is drawn as well by drawing two and taking some records of the one, the rest of the other. *)
Lemma redraw J (G : table -> R) :
  \sum_x weight l x * G x = \sum_y weight l y * (\sum_z weight l z * G (merge J y z)).
Proof.
pose swap (w : table * table) := (merge J w.1 w.2, merge J w.2 w.1).
have swapK : involutive swap.
  move=> [y z]; rewrite /swap /=; congr (_, _); apply/ffunP => i; rewrite !ffunE; by case: (i \in J).
have same y z : weight l (merge J y z) * weight l (merge J z y) = weight l y * weight l z.
  rewrite /weight -!big_split /=; apply: eq_bigr => i _; rewrite !ffunE.
  by case: (i \in J); rewrite // mulrC.
transitivity (\sum_(w : table * table) weight l w.1 * weight l w.2 * G w.1).
  rewrite -(pair_bigA _ (fun y z => weight l y * weight l z * G y)) /=; apply: eq_bigr => y _.
  by under eq_bigr do rewrite mulrAC; rewrite -mulr_sumr weight_sum mulr1.
rewrite (reindex_inj (inv_inj swapK)) /=.
under eq_bigr do rewrite same.
rewrite -(pair_bigA _ (fun y z => weight l y * weight l z * G (merge J y z))) /=; apply: eq_bigr => y _.
by rewrite mulr_sumr; apply: eq_bigr => z _; rewrite mulrA.
Qed.

Definition rest_count J y : nat := (\sum_(i | i \notin J) U (y i))%N.

Lemma count_merge J b y z : all_on J b z -> count U (merge J y z) = (b * #|J| + rest_count J y)%N.
Proof.
move=> /forallP on; rewrite /count (bigID (mem J)) /=; congr (_ + _)%N.
  rewrite mulnC -sum_nat_const; apply: eq_bigr => i iJ.
  by have := on i; rewrite iJ ffunE iJ /= => /eqP->.
by apply: eq_bigr => i /negbTE iJ; rewrite ffunE iJ.
Qed.

Lemma all_on_merge J b y z : all_on J b (merge J y z) = all_on J b z.
Proof. by apply: eq_forallb => i; rewrite ffunE; case: (i \in J). Qed.

Lemma card_side (b : bool) x k s :
  count U x = (b * k + s)%N -> #|[set i | U (x i) == b]| = if b then (k + s)%N else (n - s)%N.
Proof.
have inside : #|[set i | U (x i)]| = count U x.
  by rewrite -sum1_card big_mkcond /=; apply: eq_bigr => j _; rewrite inE; case: (U (x j)).
case: b => /= xs.
  by move: xs; rewrite mul1n -inside => <-; apply: eq_card => i; rewrite !inE eqb_id.
move: xs; rewrite mul0n add0n => <-; transitivity #|~: [set i | U (x i)]|.
  by apply: eq_card => i; rewrite !inE eqbF_neg.
have /(congr1 (fun t => t - count U x)%N) := cardsC [set i | U (x i)].
by rewrite inside card_ord addKn.
Qed.

(** How many sets of [k] records a table has on the side [b]. *)
Definition sets (b : bool) k s : nat := 'C(if b then (k + s)%N else (n - s)%N, k).

(** Counting, in two ways, the pairs of a table and a set of [k] records of it on one side. *)
Lemma count_sets b k s m :
  (sets b k s)%:R * total l U (b * k + s) m =
  \sum_(J : {set 'I_n} | #|J| == k) \sum_(y | rest_count J y == s) weight l y * block J y b m.
Proof.
have one J : #|J| = k -> \sum_(y | rest_count J y == s) weight l y * block J y b m =
    \sum_(x | count U x == (b * k + s)%N) weight l x * (m x * (all_on J b x)%:R).
  move=> Jk; rewrite [RHS]big_mkcond /=.
  have -> : \sum_x (if count U x == (b * k + s)%N then weight l x * (m x * (all_on J b x)%:R) else 0) =
      \sum_x weight l x * (m x * ((count U x == (b * k + s)%N) && all_on J b x)%:R).
    by apply: eq_bigr => x _; case: ifP => // _; rewrite !mulr0.
  rewrite (redraw J) big_mkcond /=; apply: eq_bigr => y _.
  have -> : (if rest_count J y == s then weight l y * block J y b m else 0) =
      weight l y * (block J y b m * (rest_count J y == s)%:R).
    by case: ifP => _; rewrite ?mulr1 ?mulr0.
  congr (_ * _); rewrite /block mulr_suml big_mkcond /=; apply: eq_bigr => z _.
  rewrite all_on_merge; case: (boolP (all_on J b z)) => [on|_]; last by rewrite andbF !mulr0.
  by rewrite (count_merge y on) Jk eqn_add2l andbT mulrA.
rewrite (eq_bigr _ (fun J Jk => one J (eqP Jk))) exchange_big /= /total mulr_sumr; apply: eq_bigr => x /eqP xs.
rewrite -mulr_sumr -mulr_sumr mulrCA [X in _ = _ * X]mulrC; congr (_ * _); congr (_ * _).
rewrite -natr_sum; congr (_%:R).
transitivity (\sum_(J : {set 'I_n} | (#|J| == k) && all_on J b x) 1)%N; last first.
  by rewrite big_mkcondr /=; apply: eq_bigr => J _; case: (all_on J b x).
rewrite sum1_card /sets -(card_side xs) -cards_draws.
apply: eq_card => J; rewrite !inE andbC; congr (_ && _).
by apply/subsetP/forallP => h i; have := h i; rewrite inE => /implyP.
Qed.

Lemma block_one J y b k : #|J| = k -> block J y b (fun=> 1) = side l U b ^+ k.
Proof.
move=> Jk; rewrite /block; under eq_bigr do rewrite mulr1.
rewrite -Jk -prodr_const [RHS]big_mkcond /=.
rewrite (eq_bigr (fun i => \sum_(v | (i \in J) ==> (U v == b)) l v)); last first.
  by move=> i _; case: (i \in J) => //=; rewrite mass_sum.
rewrite (bigA_distr_big_dep (fun i v => (i \in J) ==> (U v == b)) (fun _ v => l v)) /=.
by apply: eq_bigl => z; apply/forallP/familyP => h i; have := h i.
Qed.

(** Arithmetic of the step below. *)
Lemma cross_slack (T1 T2 C1 C2 N1 N2 A B S E d : R) :
  0 < N1 -> 0 < N2 -> N1 * C1 = S * A -> N2 * C2 = S * B ->
  N1 * T1 * B <= E * (N2 * T2 * A) + d * (S * (A * B)) -> 0 <= S ->
  T1 * C2 <= E * (T2 * C1) + d * (C1 * C2).
Proof.
move=> N1p N2p c1 c2 step S0; rewrite -(ler_pmul2l (mulr_gt0 N1p N2p)).
have -> : N1 * N2 * (T1 * C2) = S * (N1 * T1 * B) by rewrite mulrACA c2 mulrCA.
apply: le_trans (ler_wpmul2l S0 step) _; rewrite !mulrDr le_eqVlt; apply/orP; left; apply/eqP; congr (_ + _).
  rewrite mulrCA [RHS]mulrCA; congr (_ * _).
  by rewrite [T2 * C1]mulrC [RHS]mulrACA c1 [N2 * T2 * A]mulrC -[RHS]mulrA.
by rewrite mulrCA [RHS]mulrCA; congr (_ * _); rewrite [RHS]mulrACA c1 c2 [RHS]mulrACA -[RHS]mulrA.
Qed.

(** Secrets [k] apart, up ([b] true) or down. *)
Theorem k_fold (b : bool) s k e d m : (k + s <= n)%N -> k_records b k e d m ->
  total l U (b * k + s) m * chance n l U (~~ b * k + s) <=
  expR e * (total l U (~~ b * k + s) m * chance n l U (b * k + s)) +
  d * (chance n l U (b * k + s) * chance n l U (~~ b * k + s)).
Proof.
move=> ks rule.
pose S := \sum_(J : {set 'I_n} | #|J| == k) \sum_(y | rest_count J y == s) weight l y.
have S0 : 0 <= S by apply: sumr_ge0 => J _; apply: sumr_ge0 => y _; exact: weight_ge0.
have chanceE c : (sets c k s)%:R * chance n l U (c * k + s) = S * side l U c ^+ k.
  rewrite /chance count_sets /S mulr_suml; apply: eq_bigr => J /eqP Jk.
  by rewrite mulr_suml; apply: eq_bigr => y _; rewrite (block_one _ _ Jk).
have step : (sets b k s)%:R * total l U (b * k + s) m * side l U (~~ b) ^+ k <=
    expR e * ((sets (~~ b) k s)%:R * total l U (~~ b * k + s) m * side l U b ^+ k) +
    d * (S * (side l U b ^+ k * side l U (~~ b) ^+ k)).
  rewrite !count_sets /S !mulr_suml !mulr_sumr -big_split /=; apply: ler_sum => J /eqP Jk.
  rewrite !mulr_suml !mulr_sumr -big_split /=; apply: ler_sum => y _.
  rewrite -[X in X <= _]mulrA -[X in expR e * X]mulrA [expR e * _]mulrCA [d * _]mulrCA -mulrDr.
  apply: ler_wpmul2l; first exact: weight_ge0.
  exact: rule.
have sets0 c : 0 < (sets c k s)%:R :> R.
  by rewrite ltr0n bin_gt0; case: c; rewrite ?leq_addr // leq_subRL ?(leq_trans (leq_addl k s)) // addnC.
exact: cross_slack (sets0 b) (sets0 (~~ b)) (chanceE b) (chanceE (~~ b)) step S0.
Qed.

(** A query that is a sum of what its records add: enough are the sums of [k] records on either side, from any value
    [r] of the rest. [c v] is the chance of the event where the exact answer is [v]. *)
Corollary k_fold_sum (Z : zmodType) (f : V -> Z) (c : Z -> R) (b : bool) s k e d :
  let sum J x := \sum_(i in J) f (x i) in
  let drawn J side_ r := \sum_(z : table | all_on J side_ z) weight l z * c (r + sum J z) in
  let m x := c (\sum_i f (x i)) in
  (k + s <= n)%N ->
  (forall J r, #|J| = k -> drawn J b r * side l U (~~ b) ^+ k <=
    expR e * (drawn J (~~ b) r * side l U b ^+ k) + d * (side l U b ^+ k * side l U (~~ b) ^+ k)) ->
  total l U (b * k + s) m * chance n l U (~~ b * k + s) <=
  expR e * (total l U (~~ b * k + s) m * chance n l U (b * k + s)) +
  d * (chance n l U (b * k + s) * chance n l U (~~ b * k + s)).
Proof.
move=> sum drawn m ks rule; apply: k_fold => // J y Jk.
have blockE side_ : block J y side_ m = drawn J side_ (\sum_(i | i \notin J) f (y i)).
  apply: eq_bigr => z _; congr (_ * c _); rewrite (bigID (mem J)) /= addrC; congr (_ + _).
    by apply: eq_bigr => i /negbTE iJ; rewrite ffunE iJ.
  by apply: eq_bigr => i iJ; rewrite ffunE iJ.
by rewrite !blockE; exact: rule.
Qed.

End KFold.
