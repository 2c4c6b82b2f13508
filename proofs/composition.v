(** * Composition: adaptive releases

    Several answers are released one after the other; query, scale and the decision to stop may depend on the answers
    that are out. The transcript fixes every query, so its mass is a product of noise masses at known queries. What is
    proved for the mass of one output is then proved for that of a transcript: the influence of the far columns is
    paid once, and the costs of the answers add. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish noise quilt records.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Transcripts.
Variable R : realType.
Variables (X : Type) (O : finType).

(** A release looks at the table and at the answers so far. *)
Variable release : seq O -> X -> dist R O.

Fixpoint run T (x : X) : dist R [finType of T.-tuple O] :=
  if T is T'.+1 then bind (run T' x) (fun w => image (fun o => [tuple of rcons w o]) (release w x))
  else point R [tuple].

Lemma run_step T x (w : T.-tuple O) o : run T.+1 x [tuple of rcons w o] = run T x w * release w x o.
Proof.
rewrite /= (bigD1 w) //= [X in _ + X]big1 ?addr0 => [|v vw].
  congr (_ * _); rewrite (bigD1 o) //= eqxx mulr1 big1 ?addr0 // => u uo.
  by rewrite -val_eqE /= eqseq_rcons eqxx /= eq_sym (negbTE uo) mulr0.
rewrite big1 ?mulr0 // => u _.
by rewrite -val_eqE /= eqseq_rcons val_eqE eq_sym (negbTE vw) mulr0.
Qed.

(** The mass of a transcript: the product of the masses of its answers, each given those before it. *)
Theorem transcript_mass T x (w : T.-tuple O) o0 :
  run T x w = \prod_(t < T) release (take t w) x (nth o0 w t).
Proof.
elim: T w => [|T IH] w; first by rewrite big_ord0 /=; case: eqP => // -[]; exact: tuple0.
have [v [o ->]] : exists (v : T.-tuple O) o, w = [tuple of rcons v o].
  case: w => s sT; have : size (take T s) == T by rewrite size_take (eqP sT) ltnSn.
  move=> vT; exists (Tuple vT), (nth o0 s T); apply: val_inj => /=.
  by rewrite -take_nth ?(eqP sT) // take_oversize // (eqP sT).
rewrite run_step IH big_ord_recr /= -cats1; congr (_ * _).
  apply: eq_bigr => t _; have tv : (t < size v)%N by rewrite size_tuple.
  by rewrite nth_cat tv takel_cat // ltnW.
by rewrite nth_cat size_tuple ltnn subnn /= take_size_cat // size_tuple.
Qed.

(** Answers that are only approximately private: epsilon and delta of each, fixed beforehand, add, though what is asked
    may depend on the answers before. *)
Theorem compose_two (W U : finType) (e e' d d' : R) (p q : dist R W) (k l : W -> dist R U) :
  0 <= d' -> alike e d p q -> (forall w, alike e' d' (k w) (l w)) ->
  alike (e + e') (d + d') (bind p (fun w => image (pair w) (k w))) (bind q (fun w => image (pair w) (l w))).
Proof.
move=> d'0 first next B; rewrite !pr_bind.
pose B_ w := [pred u : U | B (w, u)].
pose low w := Num.min 1 (expR e' * pr (l w) (B_ w)).
have low01 w : 0 <= low w <= 1.
  by rewrite /low le_minl lexx le_minr ler01 /= mulr_ge0 ?pr_ge0 // ltW ?expR_gt0.
have one w : pr (image (pair w) (k w)) B <= low w + d'.
  rewrite pr_image /low; case: (leP 1 (expR e' * _)) => _; last exact: next.
  by apply: le_trans (pr_le1 _ _) _; rewrite ler_addl.
apply: le_trans (_ : \sum_w p w * low w + d' <= _).
  rewrite -[X in _ <= _ + X]mul1r -[X in _ <= _ + X * _](mass_sum p) mulr_suml -big_split /=; apply: ler_sum => w _.
  by rewrite -mulrDr; apply: ler_wpmul2l; [exact: mass_ge0 | exact: one].
rewrite addrA ler_add2r; apply: le_trans (alike_means first low01) _; rewrite ler_add2r expRD -mulrA.
rewrite ler_pmul2l ?expR_gt0 // mulr_sumr; apply: ler_sum => w _; rewrite mulrCA.
by apply: ler_wpmul2l; [exact: mass_ge0 | rewrite pr_image le_minl lexx orbT].
Qed.

Theorem compose_adaptive T (x x' : X) (e d : nat -> R) :
  (forall t, 0 <= d t) -> (forall w, alike (e (size w)) (d (size w)) (release w x) (release w x')) ->
  alike (\sum_(t < T) e t) (\sum_(t < T) d t) (run T x) (run T x').
Proof.
move=> d0 ok; elim: T => [|T IH]; first by rewrite !big_ord0; exact: alike_refl.
rewrite !big_ord_recr /= => B.
have := @compose_two _ _ _ (e T) _ (d T) _ _ (fun w : T.-tuple O => release w x) (fun w => release w x') (d0 T) IH.
move=> two.
have step y : pr (bind (run T y) (fun w : T.-tuple O => image (fun o => [tuple of rcons w o]) (release w y))) B =
    pr (bind (run T y) (fun w : T.-tuple O => image (pair w) (release w y)))
      [pred z : T.-tuple O * O | B [tuple of rcons z.1 z.2]].
  by rewrite !pr_bind; apply: eq_bigr => w _; rewrite !pr_image.
rewrite !step; apply: two => w; by have := ok w; rewrite size_tuple.
Qed.

End Transcripts.

Section Laplace.
Variable R : realType.
Variable T : nat.

(** Discrete Laplace noise: [f w t] is query [t] and [b w t] its scale, as the transcript [w] fixes them (they depend
    on the answers before [t] alone; for the inequalities that need not be asked). *)
Definition transcript (X : Type) (f : ('I_T -> int) -> 'I_T -> X -> int) (b : ('I_T -> int) -> 'I_T -> R)
    (w : 'I_T -> int) (x : X) : R := \prod_t laplace (b w t) (w t - f w t x).

Variables (X : Type) (f : ('I_T -> int) -> 'I_T -> X -> int) (b : ('I_T -> int) -> 'I_T -> R) (w : 'I_T -> int).
Hypothesis b_gt0 : forall t, 0 < b w t.

Lemma transcript_ge0 x : 0 <= transcript f b w x.
Proof. by apply: prodr_ge0 => t _; apply/ltW/laplace_gt0. Qed.

(** Tables whose answers are at most [D t] apart: the costs [D t / b t] add. *)
Theorem transcript_near x x' (D : 'I_T -> nat) c :
  (forall t, `|f w t x - f w t x'| <= D t)%N -> \sum_t (D t)%:R / b w t <= c ->
  transcript f b w x <= expR c * transcript f b w x'.
Proof.
move=> near le; apply: le_trans (_ : expR (\sum_t (D t)%:R / b w t) * transcript f b w x' <= _).
  rewrite (big_morph (@expR R) (@expRD R) (@expR0 R)) -big_split /=; apply: ler_prod => t _.
  by rewrite ltW ?laplace_gt0 //=; exact: laplace_shift.
by apply: ler_wpmul2r; rewrite ?transcript_ge0 // ler_expR.
Qed.

End Laplace.

(** The quilt accountant: one influence [e] for all releases, and [D t / b t] for each, [D t] being how far query [t]
    moves when the near columns change. *)
Theorem quilt_accountant (R : realType) (I Q X Y : finType) (P : dist R [finType of I * Q * X * Y]) (T : nat)
    (f : ('I_T -> int) -> 'I_T -> X * Y -> int) (b : ('I_T -> int) -> 'I_T -> R) (w : 'I_T -> int)
    (D : 'I_T -> nat) (e eps : R) (s s' : pred I) :
  let m x y := transcript f b w (x, y) in
  (forall t, 0 < b w t) -> far_columns_independent P -> influence_at_most P e s s' ->
  (forall t x y y', `|f w t (x, y) - f w t (x, y')| <= D t)%N -> e + \sum_t (D t)%:R / b w t <= eps ->
  (\sum_x \sum_y joint P s x y * m x y) * quilt.chance P s' <=
  expR eps * ((\sum_x \sum_y joint P s' x y * m x y) * quilt.chance P s).
Proof.
move=> m b0 independent influence moves le.
have m0 x y : 0 <= m x y by exact: transcript_ge0.
have near x y y' : m x y <= expR (\sum_t (D t)%:R / b w t) * m x y'.
  by apply: (transcript_near b0) => [t|]; [exact: moves | exact: lexx].
apply: le_trans (quilt_mechanism independent influence m0 near) _; apply: ler_wpmul2r; last by rewrite ler_expR.
apply: mulr_ge0; last exact: chance_ge0.
by apply: sumr_ge0 => x _; apply: sumr_ge0 => y _; apply: mulr_ge0 => //; exact: joint_ge0.
Qed.

Section Records.
Variable R : realType.
Variables (V : finType) (n : nat) (l : dist R V) (U : pred V).
Notation table := {ffun 'I_n -> V}.

(** A release that is left out of the ratio of one record's answers, and counted by how far one record moves it. *)
Lemma one_record_times side_ e c (m h : table -> R) :
  (forall x, 0 <= m x) -> (forall y j v v', h (change y j v) <= expR c * h (change y j v')) -> (forall x, 0 <= h x) ->
  one_record l U side_ e m -> one_record l U side_ (e + c) (fun x => m x * h x).
Proof.
move=> m0 near h0 one j y; case: (pickP V) => [v0 _|none]; last first.
  by rewrite !big1 ?mul0r ?mulr0 // => v; have := none v.
pose low := h (change y j [arg min_(v < v0) h (change y j v)]%O).
have low_le v : low <= h (change y j v) by rewrite /low; case: arg_minP => // v' _; exact.
have le_low v : h (change y j v) <= expR c * low by exact: near.
have l0 v : 0 <= l v * m (change y j v) by rewrite mulr_ge0 ?mass_ge0.
apply: le_trans (_ : (\sum_(v | U v == side_) l v * m (change y j v)) * (expR c * low) * side l U (~~ side_) <= _).
  apply: ler_wpmul2r; first exact: side_ge0.
  by rewrite mulr_suml; apply: ler_sum => v _; rewrite mulrA; apply: ler_wpmul2l.
rewrite mulrAC; apply: le_trans (ler_wpmul2r _ (one j y)) _.
  by apply: mulr_ge0; [apply/ltW/expR_gt0 | exact: h0].
rewrite mulrACA -expRD ler_pmul2l ?expR_gt0 // mulrAC; apply: ler_wpmul2r; first exact: side_ge0.
by rewrite mulr_suml; apply: ler_sum => v _; rewrite mulrA; apply: ler_wpmul2l.
Qed.

Hypotheses (inside : 0 < side l U true) (outside : 0 < side l U false).

(** Records and a count: [m] is the mass of some answers of the transcript, [e] what one record moved changes it by
    ([one_record], of the answers of one record together); the other answers are counted by how far one record moves
    them. Secrets [k] apart cost [k] times the sum. *)
Variables (T : nat) (f : ('I_T -> int) -> 'I_T -> table -> int) (b : ('I_T -> int) -> 'I_T -> R) (w : 'I_T -> int).
Variables (D : 'I_T -> nat) (m : table -> R) (e : R).
Hypotheses (b_gt0 : forall t, 0 < b w t) (m_ge0 : forall x, 0 <= m x).
Hypothesis moves : forall t y j v v', (`|f w t (change y j v) - f w t (change y j v')| <= D t)%N.

Let h x := m x * transcript f b w x.
Let cost := \sum_t (D t)%:R / b w t.

Let h_ge0 x : 0 <= h x. Proof. by rewrite mulr_ge0 // transcript_ge0. Qed.

Let h_one side_ : one_record l U side_ e m -> one_record l U side_ (e + cost) h.
Proof.
apply: one_record_times => // [y j v v'|x]; last exact: transcript_ge0.
by apply: (transcript_near b_gt0) => [t|]; [exact: moves | exact: lexx].
Qed.

Theorem records_accountant_up s k : (s + k <= n)%N -> one_record l U true e m ->
  total l U (s + k) h * records.chance n l U s <=
  expR (k%:R * (e + cost)) * (total l U s h * records.chance n l U (s + k)).
Proof. by move=> sk one; apply: per_record_up => //; exact: h_one. Qed.

Theorem records_accountant_down s k : (s + k <= n)%N -> one_record l U false e m ->
  total l U s h * records.chance n l U (s + k) <=
  expR (k%:R * (e + cost)) * (total l U (s + k) h * records.chance n l U s).
Proof. by move=> sk one; apply: per_record_down => //; exact: h_one. Qed.

End Records.
