(** * A noisy count, clipped to the counts there are

    Discrete Laplace noise on a count [g], clipped to the counts there are: the masses at the ends are the tails. All
    that is made from the noisy count and from nothing else that knows [g] is as private as it is: shift and fill hands
    on a whole table made from it. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals sequences exp.
From bnpriv Require Import distributions pufferfish noise.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Clipped.
Variable R : realType.
Variables (b : R) (n : nat).
Hypothesis b0 : 0 < b.
Let q : R := expR (- b^-1).

(** There are [n.+1] records, at least one, and counts run from 0 to [n.+1]. *)
Definition clipped_mass (g G : 'I_n.+2) : R :=
  if (val G == 0%N) || (val G == n.+1) then q ^+ `|g%:Z - G%:Z|%N / (1 + q)
  else (1 - q) / (1 + q) * q ^+ `|g%:Z - G%:Z|%N.

Lemma clipped_ge0 g G : 0 <= clipped_mass g G.
Proof.
have q0 : 0 < q by exact: expR_gt0.
have q1 : q < 1 by exact: q_lt1.
have d0 : 0 < 1 + q by exact: addr_gt0 (@ltr01 R) q0.
by rewrite /clipped_mass; case: ifP => _; apply: ltW; apply: mulr_gt0; rewrite
  ?exprn_gt0 ?invr_gt0 ?divr_gt0 ?subr_gt0 //.
Qed.

Lemma clipped_near (k : nat) (g g' G : 'I_n.+2) :
  (`|g%:Z - g'%:Z| <= k)%N -> clipped_mass g G <= expR (k%:R / b) * clipped_mass g' G.
Proof.
move=> near; have q0 : 0 < q by exact: expR_gt0.
have q1 : q < 1 by exact: q_lt1.
have d0 : 0 < 1 + q by exact: addr_gt0 (@ltr01 R) q0.
have le : q ^+ `|g%:Z - G%:Z|%N <= expR (k%:R / b) * q ^+ `|g'%:Z - G%:Z|%N.
  have -> : expR (k%:R / b) = (q ^+ k)^-1 by rewrite q_exp expRN invrK.
  rewrite ler_pdivl_mull ?exprn_gt0 // -exprD.
  apply: ler_wiexpn2l; rewrite ?ltW // addnC.
  apply: leq_trans (leq_add_dist g'%:Z g%:Z G%:Z) _.
  by rewrite addnC leq_add2l distnC.
rewrite /clipped_mass; case: ifP => _.
  by rewrite mulrA ler_pmul2r // invr_gt0.
by rewrite mulrCA ler_pmul2l // divr_gt0 // subr_gt0.
Qed.

(** The mass below [m], times [1 + q]: a power of [q] on one side of the count, [1 + q] less a power on the other. *)
Let a (g G : nat) : R := q ^+ `|g%:Z - G%:Z|%N.

Lemma clipped_head (g m : nat) :
  a g 0 + (1 - q) * (\sum_(1 <= G < m.+1) a g G) = if (m <= g)%N then q ^+ (g - m) else 1 + q - q ^+ (m.+1 - g).
Proof.
have aE G : a g G = if (G <= g)%N then q ^+ (g - G) else q ^+ (G - g).
  rewrite /a; case: leqP => [le|/ltnW le]; first by rewrite distnEl.
  by rewrite distnEr.
elim: m => [|m IH]; first by rewrite big_geq // mulr0 addr0 aE.
rewrite big_nat_recr //= mulrDr addrA IH aE; case: (ltngtP m g) => [mg|gm|->].
- by rewrite -(subnSK mg) exprS mulrBl mul1r addrCA subrr addr0.
- by rewrite (@subSn g m.+1) ?(leqW (ltnW gm)) // exprS mulrBl mul1r addrA subrK.
- by rewrite subnn expr0 (@subSn g g.+1) ?leqnSn // subSnn expr1 mulrBl mul1r addrA exprS expr1.
Qed.

Lemma clipped_sum g : \sum_G clipped_mass g G = 1.
Proof.
have d0 : 0 < 1 + q by apply: addr_gt0; [exact: ltr01 | exact: expR_gt0].
apply: (mulfI (lt0r_neq0 d0)); rewrite mulr1 mulr_sumr.
have scaled G : (1 + q) * clipped_mass g G = (if (val G == 0%N) || (val G == n.+1) then 1 else 1 - q) * a g G.
  rewrite /clipped_mass; case: ifP => _; first by rewrite mulrCA mulfV ?lt0r_neq0 // mulr1 mul1r.
  by rewrite mulrA mulrCA mulfV ?lt0r_neq0 // mulr1.
rewrite (eq_bigr _ (fun G _ => scaled G)).
rewrite -(big_mkord predT (fun G => (if (G == 0%N) || (G == n.+1) then 1 else 1 - q) * a g G)).
rewrite big_nat_recr //= big_ltn // eqxx /= eqxx !mul1r.
rewrite (eq_big_nat _ _ (F2 := fun G => (1 - q) * a g G)); last first.
  by move=> G /andP[G0 Gn]; rewrite -[G == 0%N]negbK -lt0n G0 /= (ltn_eqF Gn).
rewrite -mulr_sumr clipped_head; have := ltn_ord g; rewrite ltnS leq_eqVlt => /orP[/eqP->|gn].
  by rewrite leqnSn subSnn expr1 /a subrr absz0 expr0 addrC.
rewrite /a distnEr ?(ltnW gn) //; case: leqP => [ng|_]; last by rewrite subrK.
have -> : val g = n by apply/eqP; rewrite eqn_leq ng -ltnS gn.
by rewrite subnn expr0 subSnn expr1.
Qed.

Definition clipped (g : 'I_n.+2) : dist R [finType of 'I_n.+2] :=
  @Dist R _ (clipped_mass g) (clipped_ge0 g) (clipped_sum g).


(** Everything that is made of the noisy count by a rule that does not know [g]: the pair of the count and the table.
    [given] says how the table is distributed given the true and the noisy count; the hypothesis that it does not
    depend on the true one is what [filled_law] in [fill.v] proves of shift and fill. *)
Theorem shift_and_fill (U : finType) (given : 'I_n.+2 -> 'I_n.+2 -> dist R U) (k : nat) (eps : R) (g g' : 'I_n.+2) :
  (`|g%:Z - g'%:Z| <= k)%N -> k%:R <= b * eps -> (forall G, given g G =1 given g' G) ->
  alike eps 0 (bind (clipped g) (fun G => image (pair G) (given g G)))
              (bind (clipped g') (fun G => image (pair G) (given g' G))).
Proof.
move=> near le free B.
have -> : pr (bind (clipped g) (fun G => image (pair G) (given g G))) B =
          pr (bind (clipped g) (fun G => image (pair G) (given g' G))) B.
  rewrite !pr_bind; apply: eq_bigr => G _; congr (_ * _).
  by rewrite !pr_image /pr; apply: eq_bigr => u _; exact: free.
apply: post_processing; apply: alike_masses => G /=.
apply: le_trans (clipped_near G near) _; apply: ler_wpmul2r; first exact: clipped_ge0.
by rewrite ler_expR ler_pdivr_mulr // mulrC.
Qed.

End Clipped.

(** Several classes: a noisy count for each; secrets are [k] records moved apart, each of which changes two counts. *)
Theorem several_classes (R : realType) (m k : nat) (b eps : R) (g g' w : 'I_m -> int) (U : finType)
    (given : ('I_m -> int) -> dist R U) (u : U) :
  0 < b -> (\sum_a `|g a - g' a| <= 2 * k)%N -> (2 * k)%:R <= b * eps ->
  \prod_a laplace b (w a - g a) * given w u <= expR eps * (\prod_a laplace b (w a - g' a) * given w u).
Proof.
move=> b0 moved le; rewrite mulrA; apply: ler_wpmul2r; first exact: mass_ge0.
exact: laplace_vector moved le.
Qed.

(** Noise on moves: all classes at once, with masses in proportion to [exp (- moves / b)] on the vectors of sum 0. As
    moves are half the sum of the absolute values, these are the masses of discrete Laplace noise of scale [2 b] on
    every class, all multiplied by one number [c], and 0 where the sum is not 0. *)
Theorem noise_on_moves (R : realType) (m k : nat) (b eps c : R) (g g' w : 'I_m -> int) (U : finType)
    (given : ('I_m -> int) -> dist R U) (u : U) :
  let mass (x : 'I_m -> int) : R := c * (\sum_a (w a - x a) == 0)%:R * \prod_a laplace (2%:R * b) (w a - x a) in
  0 < b -> 0 <= c -> \sum_a g a = \sum_a g' a -> (\sum_a `|g a - g' a| <= 2 * k)%N -> k%:R <= b * eps ->
  mass g * given w u <= expR eps * (mass g' * given w u).
Proof.
move=> mass b0 c0 same moved le; rewrite [X in _ <= X]mulrA; apply: ler_wpmul2r; first exact: mass_ge0.
rewrite /mass !sumrB same [X in _ <= X]mulrCA; apply: ler_wpmul2l; first by rewrite mulr_ge0 ?ler0n.
apply: laplace_vector moved _; first by rewrite mulr_gt0 ?ltr0n.
by rewrite natrM -mulrA ler_pmul2l ?ltr0n.
Qed.
