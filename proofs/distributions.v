(** * Distributions on finite sets

    A distribution on a finite set is a mass for each of its points: real, not negative, with sum 1. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Distributions.
Variable R : realType.

Record dist (T : finType) := Dist {
  mass :> T -> R;
  mass_ge0 : forall x, 0 <= mass x;
  mass_sum : \sum_x mass x = 1
}.

(** The chance of an event. *)
Definition pr (T : finType) (p : dist T) (A : pred T) : R := \sum_(x | A x) p x.

Section Chances.
Variable T : finType.
Implicit Types (p : dist T) (A B : pred T).

Lemma pr_ge0 p A : 0 <= pr p A.
Proof. by apply: sumr_ge0 => x _; exact: mass_ge0. Qed.

Lemma pr_all p : pr p predT = 1.
Proof. exact: mass_sum. Qed.

Lemma pr_sub p A B : {subset A <= B} -> pr p A <= pr p B.
Proof.
move=> sub; rewrite /pr [X in _ <= X](bigID A) /= (eq_bigl A); first last.
  by move=> x; rewrite andbC; case: (boolP (A x)) => // /sub.
by rewrite ler_addl; apply: sumr_ge0 => x _; exact: mass_ge0.
Qed.

Lemma pr_le1 p A : pr p A <= 1.
Proof. by rewrite -(pr_all p); apply: pr_sub => x _; rewrite inE. Qed.

Lemma pr_split p A B : pr p A = pr p [pred x | A x && B x] + pr p [pred x | A x && ~~ B x].
Proof. by rewrite /pr (bigID B). Qed.

Lemma pr_not p A : pr p [pred x | ~~ A x] = 1 - pr p A.
Proof. by rewrite -(pr_all p) /pr (bigID A predT) /= addrAC subrr add0r. Qed.

End Chances.

(** First a point of [p], then one of the distribution that the point chooses. *)
Definition bind (T U : finType) (p : dist T) (k : T -> dist U) : dist U.
Proof.
refine (@Dist U (fun u => \sum_x p x * k x u) _ _).
- by move=> u; apply: sumr_ge0 => x _; rewrite mulr_ge0 ?mass_ge0.
- rewrite exchange_big /= -[RHS](mass_sum p); apply: eq_bigr => x _.
  by rewrite -mulr_sumr mass_sum mulr1.
Defined.

Definition point (T : finType) (y : T) : dist T.
Proof.
refine (@Dist T (fun x => (x == y)%:R) _ _).
- by move=> x; rewrite ler0n.
- by rewrite (bigD1 y) //= eqxx big1 ?addr0 // => x /negbTE->.
Defined.

(** The distribution of a function of what was drawn. *)
Definition image (T U : finType) (f : T -> U) (p : dist T) : dist U := bind p (fun x => point (f x)).

Lemma pr_bind (T U : finType) (p : dist T) (k : T -> dist U) (B : pred U) :
  pr (bind p k) B = \sum_x p x * pr (k x) B.
Proof.
rewrite /pr /= exchange_big /=; apply: eq_bigr => x _.
by rewrite mulr_sumr.
Qed.

Lemma pr_point (T : finType) (y : T) (B : pred T) : pr (point y) B = (B y)%:R.
Proof.
rewrite /pr /=; case: (boolP (B y)) => [By|nBy].
  by rewrite (bigD1 y) //= eqxx big1 ?addr0 // => x /andP[_ /negbTE->].
by rewrite big1 // => x Bx; case: eqP => // xy; move: nBy; rewrite -xy Bx.
Qed.

Lemma pr_image (T U : finType) (f : T -> U) (p : dist T) (B : pred U) :
  pr (image f p) B = pr p [pred x | B (f x)].
Proof.
rewrite pr_bind [RHS]big_mkcond /=; apply: eq_bigr => x _.
by rewrite pr_point; case: (B (f x)); rewrite ?mulr1 ?mulr0.
Qed.

End Distributions.

Notation "'{dist' T '/' R '}'" := (dist R T) (format "{dist  T  /  R }").
