(** * Independent records and the count of a class

    [n] records are drawn independently from one distribution [l]; the secret is how many of them are in the class [U].
    [m x] is the mass of one output, or of one whole transcript of adaptive releases, when the table is [x]. If changing
    one record, drawn from within the class, to one drawn from outside changes the mean of [m] by a factor of at most
    [exp e], whatever the other records are, then secrets [k] apart change it by at most [exp (k e)]. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Records.
Variable R : realType.
Variables (V : finType) (n : nat) (l : dist R V).
Notation table := {ffun 'I_n -> V}.
Implicit Types (x y : table) (j : 'I_n) (U : pred V) (m : table -> R).

Definition weight x : R := \prod_j l (x j).
Definition count U x : nat := (\sum_j U (x j))%N.

(** The mean of [m] over the tables with [s] records in the class, not yet divided by their chance. *)
Definition total U (s : nat) m : R := \sum_(x : table | count U x == s) weight x * m x.
Definition chance U s : R := total U s (fun=> 1).

(** The table with one record replaced. *)
Definition change x j (v : V) : table := [ffun i => if i == j then v else x i].

Let rest_weight x j : R := \prod_(i | i != j) l (x i).
Let rest_count U x j : nat := (\sum_(i | i != j) U (x i))%N.

Lemma changeE x j v i : change x j v i = if i == j then v else x i.
Proof. by rewrite ffunE. Qed.

Lemma weight_change x j v : weight (change x j v) = l v * rest_weight x j.
Proof.
rewrite /weight (bigD1 j) //= changeE eqxx; congr (_ * _).
by apply: eq_bigr => i /negbTE ij; rewrite changeE ij.
Qed.

Lemma count_change U x j v : count U (change x j v) = (U v + rest_count U x j)%N.
Proof.
rewrite /count (bigD1 j) //= changeE eqxx; congr (_ + _)%N.
by apply: eq_bigr => i /negbTE ij; rewrite changeE ij.
Qed.

(** All tables: one value for record [j], and the others. *)
Lemma sum_change (v0 : V) j (G : table -> R) :
  \sum_(x : table) G x = \sum_(y : table | y j == v0) \sum_v G (change y j v).
Proof.
rewrite (partition_big (fun x => change x j v0) (fun y : table => y j == v0)) /=; last first.
  by move=> x _; rewrite changeE eqxx.
apply: eq_bigr => y /eqP yj.
rewrite (reindex_onto (fun v => change y j v) (fun x => x j)) /=; last first.
  move=> x /eqP <-; apply/ffunP => i; rewrite !changeE.
  by case: eqP => // ->.
apply: eq_bigl => v; rewrite changeE !eqxx andbT; apply/eqP/ffunP => i; rewrite !changeE.
by case: eqP => // ->.
Qed.

(** How many records can be chosen on the side [b] of a table that has [b + s] of them in the class. *)
Definition choices s (b : bool) : nat := if b then s.+1 else (n - s)%N.

Lemma card_class U x (b : bool) s :
  count U x = (b + s)%N -> #|[pred j | U (x j) == b]| = choices s b.
Proof.
have inside : #|[pred j | U (x j)]| = count U x.
  by rewrite -sum1_card big_mkcond /=; apply: eq_bigr => j _; rewrite inE; case: (U (x j)).
case: b => /= xs.
  by rewrite -[RHS]xs -inside; apply: eq_card => j; rewrite !inE eqb_id.
rewrite -[n in RHS](card_ord n) -(cardC [pred j | U (x j)]) inside xs addKn.
by apply: eq_card => j; rewrite !inE eqbF_neg.
Qed.

(** Counting, in two ways, the pairs of a table and a record of it that is in the class, or that is not. *)
Lemma count_twice (v0 : V) U s (b : bool) m :
  (choices s b)%:R * total U (b + s) m =
  \sum_j \sum_(y : table | (y j == v0) && (rest_count U y j == s))
    rest_weight y j * \sum_(v | U v == b) l v * m (change y j v).
Proof.
transitivity (\sum_j \sum_(x : table | (count U x == b + s)%N && (U (x j) == b)) weight x * m x).
  rewrite /total mulr_sumr (exchange_big_dep (fun x => count U x == b + s)%N) /=; last by move=> j x _ /andP[].
  apply: eq_bigr => x /eqP xs; rewrite (eq_bigl (mem [pred j | U (x j) == b])) => [|j]; last first.
    by rewrite xs eqxx.
  by rewrite sumr_const -[RHS]mulr_natl (card_class xs).
apply: eq_bigr => j _; rewrite big_mkcond (sum_change v0 j) [RHS]big_mkcondr /=; apply: eq_bigr => y _.
have alike v : (count U (change y j v) == b + s)%N && (U v == b) = (rest_count U y j == s) && (U v == b).
  by rewrite count_change; case: (U v =P b) => [->|_]; rewrite ?andbF // !andbT eqn_add2l.
rewrite mulr_sumr; case: ifP => ys.
  rewrite [RHS]big_mkcond /=; apply: eq_bigr => v _; rewrite changeE eqxx alike ys weight_change /=.
  by case: ifP => // _; rewrite mulrCA mulrA.
by rewrite big1 // => v _; rewrite changeE eqxx alike ys.
Qed.

(** One record moved: what the mean of [m] changes by, over the rest, when a record is drawn from the side [b] of the
    class and then from the other one; each side is multiplied by the chance of the other. *)
Definition side U (b : bool) : R := \sum_(v | U v == b) l v.
Definition one_record U (b : bool) e m := forall j (y : table),
  (\sum_(v | U v == b) l v * m (change y j v)) * side U (~~ b) <=
  expR e * ((\sum_(v | U v == ~~ b) l v * m (change y j v)) * side U b).

Lemma rest_weight_ge0 y j : 0 <= rest_weight y j.
Proof. by apply: prodr_ge0 => i _; exact: mass_ge0. Qed.

Lemma side_ge0 U b : 0 <= side U b.
Proof. by apply: sumr_ge0 => v _; exact: mass_ge0. Qed.

Lemma one_step U s (b : bool) e m : one_record U b e m ->
  (choices s b)%:R * total U (b + s) m * side U (~~ b) <=
  expR e * ((choices s (~~ b))%:R * total U (~~ b + s) m * side U b).
Proof.
move=> one; case: (pickP V) => [v0 _|none]; last first.
  by have := mass_sum l; rewrite big1 => [/eqP|v]; [rewrite eq_sym oner_eq0 | have := none v].
rewrite !(count_twice v0) !mulr_suml mulr_sumr; apply: ler_sum => j _.
rewrite !mulr_suml mulr_sumr; apply: ler_sum => y _.
rewrite -!mulrA [X in _ <= X]mulrCA.
by apply: ler_wpmul2l; [exact: rest_weight_ge0 | exact: one].
Qed.

Lemma total_ge0 U s m : (forall x, 0 <= m x) -> 0 <= total U s m.
Proof. by move=> m0; apply: sumr_ge0 => x _; rewrite mulr_ge0 // prodr_ge0 // => j _; exact: mass_ge0. Qed.

Lemma one_record_1 U b : one_record U b 0 (fun=> 1).
Proof.
move=> j y; rewrite expR0 mul1r mulrC.
by under eq_bigr do rewrite mulr1; under [X in _ <= X * _]eq_bigr do rewrite mulr1.
Qed.

(** The chances of the counts themselves. *)
Lemma chance_step U s b :
  (choices s b)%:R * chance U (b + s) * side U (~~ b) = (choices s (~~ b))%:R * chance U (~~ b + s) * side U b.
Proof.
apply/le_anti/andP; split.
  by have := one_step s (one_record_1 U b); rewrite expR0 mul1r.
by have := one_step s (one_record_1 U (~~ b)); rewrite expR0 mul1r negbK.
Qed.

(** Arithmetic of the two steps below. *)
Lemma cross (N1 N2 T1 T2 S1 S2 C1 C2 E : R) :
  N1 * T1 * S2 <= E * (N2 * T2 * S1) -> N1 * C1 * S2 = N2 * C2 * S1 -> 0 < N1 * S2 -> 0 <= C2 ->
  T1 * C2 <= E * (T2 * C1).
Proof.
move=> step cs c0 C20; rewrite -(ler_pmul2l c0).
have -> : N1 * S2 * (T1 * C2) = N1 * T1 * S2 * C2 by rewrite mulrACA mulrA.
have -> : N1 * S2 * (E * (T2 * C1)) = E * (N2 * T2 * S1) * C2.
  rewrite mulrCA -[RHS]mulrA; congr (_ * _); rewrite [T2 * C1]mulrC mulrACA mulrA cs.
  by rewrite -!mulrA; congr (_ * _); rewrite mulrCA [RHS]mulrCA [T2 * _]mulrC.
exact: ler_wpmul2r.
Qed.

Lemma chain (A B C a b c E F G : R) :
  B * a <= E * (A * b) -> C * b <= F * (B * c) -> 0 < b -> 0 <= a -> 0 <= c -> 0 <= F -> G = E * F ->
  C * a <= G * (A * c).
Proof.
move=> one two b0 a0 c0 F0 ->; rewrite -(ler_pmul2l b0).
have -> : b * (C * a) = C * b * a by rewrite mulrCA mulrA.
apply: le_trans (ler_wpmul2r a0 two) _.
have -> : F * (B * c) * a = F * (B * a * c) by rewrite -mulrA; congr (_ * _); rewrite mulrAC.
have -> : b * (E * F * (A * c)) = F * (E * (A * b) * c).
  by rewrite [E * F]mulrC -!mulrA mulrCA; congr (_ * _); rewrite mulrCA; congr (_ * _); rewrite mulrCA.
by apply: ler_wpmul2l => //; apply: ler_wpmul2r.
Qed.

Section Class.
Variable U : pred V.
Hypotheses (inside : 0 < side U true) (outside : 0 < side U false).

Let side_gt0 b : 0 < side U b. Proof. by case: b. Qed.

Lemma choices_gt0 s b : (s < n)%N -> 0 < (choices s b)%:R :> R.
Proof. by move=> sn; rewrite ltr0n; case: b; rewrite /= ?subn_gt0. Qed.

Lemma chance_gt0 s : (s <= n)%N -> 0 < chance U s.
Proof.
elim: s => [_|s IH sn]; last first.
  have := chance_step U s true; rewrite /= add1n add0n => step.
  have : 0 < s.+1%:R * chance U s.+1 * side U false.
    by rewrite step !mulr_gt0 ?IH ?(ltnW sn) // (choices_gt0 false sn).
  by rewrite pmulr_lgt0 // pmulr_rgt0 // ltr0n.
have -> : chance U 0 = \prod_(j < n) side U false.
  rewrite /side bigA_distr_big /= /chance /total; apply: eq_big => [x|x _]; last by rewrite mulr1.
  apply/idP/ffun_onP => [/eqP x0 j|all].
    by move/eqP: x0; rewrite sum_nat_eq0 => /forallP/(_ j); rewrite implyTb eqb0 => /negbTE xj; rewrite unfold_in xj.
  rewrite sum_nat_eq0; apply/forallP => j; rewrite implyTb eqb0.
  by have := all j; rewrite unfold_in eqbF_neg.
by apply: prodr_gt0 => j _.
Qed.

(** Secrets one apart, up ([b] true) or down. *)
Theorem per_record s (b : bool) e m : (s < n)%N -> one_record U b e m ->
  total U (b + s) m * chance U (~~ b + s) <= expR e * (total U (~~ b + s) m * chance U (b + s)).
Proof.
move=> sn one; have := cross (one_step s one) (chance_step U s b); apply.
  by rewrite mulr_gt0 // choices_gt0.
by apply: total_ge0 => x; exact: ler01.
Qed.

(** Secrets [k] apart, in either direction. *)
Theorem per_record_up s k e m : (forall x, 0 <= m x) -> (s + k <= n)%N -> one_record U true e m ->
  total U (s + k) m * chance U s <= expR (k%:R * e) * (total U s m * chance U (s + k)).
Proof.
move=> m0 + one; elim: k => [|k IH] sk; first by rewrite addn0 mul0r expR0 mul1r.
have lt : (s + k < n)%N by rewrite -addnS.
have := per_record lt one; rewrite /= add1n add0n -addnS => step.
have := chain (IH (ltnW lt)) step; apply; rewrite ?chance_gt0 ?(ltnW lt) //.
- by apply/ltW/chance_gt0/(leq_trans (leq_addr k s))/ltnW.
- exact/ltW/chance_gt0.
- exact/ltW/expR_gt0.
- by rewrite -[k.+1]addn1 natrD mulrDl mul1r expRD.
Qed.

Theorem per_record_down s k e m : (forall x, 0 <= m x) -> (s + k <= n)%N -> one_record U false e m ->
  total U s m * chance U (s + k) <= expR (k%:R * e) * (total U (s + k) m * chance U s).
Proof.
move=> m0 + one; elim: k => [|k IH] sk; first by rewrite addn0 mul0r expR0 mul1r.
have lt : (s + k < n)%N by rewrite -addnS.
have := per_record lt one; rewrite /= add1n add0n -addnS => step.
have := chain step (IH (ltnW lt)); apply; rewrite ?chance_gt0 ?(ltnW lt) //.
- exact/ltW/chance_gt0.
- by apply/ltW/chance_gt0/(leq_trans (leq_addr k s))/ltnW.
- exact/ltW/expR_gt0.
- by rewrite -[k.+1]addn1 natrD mulrDl mul1r addrC expRD.
Qed.

End Class.

End Records.
