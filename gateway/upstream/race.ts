import type { Asking } from './asking.ts';
import { Cancellation, Cancelled } from './cancellation.ts';
import type { Verdict } from './reply.ts';
import type { Upstream } from './upstream.ts';

/** What came of an attempt, and whose words they are. */
export interface Outcome {
  readonly upstream: Upstream;
  readonly verdict: Verdict;
}

export interface RaceOptions {
  readonly attempt: (
    upstream: Upstream,
    asking: Asking,
    cancellation: Cancellation,
    isHedge: boolean,
  ) => Promise<Verdict>;
  /** Whom to ask as well, when the first takes long; it counts as asked then. Undefined: nobody. */
  readonly second: (asking: Asking) => Upstream | undefined;
  /** Whether an outcome is to be believed before the other is heard. */
  readonly isSure: (outcome: Outcome, asking: Asking) => boolean;
  /** The second was asked, and now it is decided. */
  readonly onHedged: (isWonByHedge: boolean) => void;
  /** The first had no answer yet when the second had. @param startedAt on the clock of performance.now() */
  readonly onLost: (upstream: Upstream, asking: Asking, startedAt: number) => void;
}

interface Runner {
  readonly upstream: Upstream;
  readonly startedAt: number;
  readonly cancellation: Cancellation;
  readonly isHedge: boolean;
}

/** One call at an upstream, and where that takes long at a second one too. The first to say something of use wins. */
export class Race {
  readonly #options: RaceOptions;
  readonly #asking: Asking;
  readonly #runners: Runner[] = [];
  #spare: Outcome | undefined;
  #isHedged = false;
  #timer: NodeJS.Timeout | undefined;
  #resolve: (outcome: Outcome) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  private constructor(asking: Asking, options: RaceOptions) {
    this.#asking = asking;
    this.#options = options;
  }

  /** @param afterMs from now on; a multiple of ten, since timers of equal length share a list. @throws Cancelled */
  static run(first: Upstream, afterMs: number, asking: Asking, options: RaceOptions): Promise<Outcome> {
    const race = new Race(asking, options);
    return new Promise((resolve, reject) => {
      race.#resolve = resolve;
      race.#reject = reject;
      race.#timer = setTimeout(hedge, afterMs, race);
      race.start(first, false);
    });
  }

  start(upstream: Upstream, isHedge: boolean): void {
    const cancellation = new Cancellation();
    const runner = { upstream, startedAt: performance.now(), cancellation, isHedge };
    this.#runners.push(runner);
    this.#asking.cancellation?.add(cancellation);
    if (this.#asking.cancellation?.isCancelled === true) cancellation.breakOff();
    this.#options.attempt(upstream, this.#asking, cancellation, isHedge).then(
      (verdict) => {
        this.#ended(runner, { upstream, verdict });
      },
      (error: unknown) => {
        this.#broke(runner, error);
      },
    );
  }

  hedge(): void {
    const second = this.#options.second(this.#asking);
    if (second === undefined) return;
    this.#isHedged = true;
    this.start(second, true);
  }

  #ended(runner: Runner, outcome: Outcome): void {
    if (!this.#leaves(runner)) return;
    const { verdict } = outcome;
    const [other] = this.#runners;
    if (verdict.final && (other === undefined || this.#options.isSure(outcome, this.#asking)))
      this.#finish(outcome, runner);
    else if (other === undefined) this.#finish(this.#spare ?? outcome, runner);
    else if (verdict.final) this.#spare = outcome;
    else this.#asking.failed = [...this.#asking.failed, verdict];
  }

  #finish(outcome: Outcome, runner: Runner): void {
    const [loser] = this.#runners;
    this.#runners.length = 0;
    clearTimeout(this.#timer);
    if (loser !== undefined) {
      this.#asking.cancellation?.delete(loser.cancellation);
      // One that is on trial goes on: how it ends tells whether it is back, and nobody waits for it.
      if (loser.upstream.health.isUp) {
        loser.cancellation.breakOff();
        // A second one that was asked a moment before says nothing of itself by that.
        if (!loser.isHedge) this.#options.onLost(loser.upstream, this.#asking, loser.startedAt);
      }
    }
    if (this.#isHedged) this.#options.onHedged(runner.isHedge && outcome.verdict.final);
    this.#resolve(outcome);
  }

  /** The caller has left, or we are wrong somewhere. */
  #broke(runner: Runner, error: unknown): void {
    if (!this.#leaves(runner)) return;
    clearTimeout(this.#timer);
    if (!(error instanceof Cancelled)) for (const { cancellation } of this.#runners) cancellation.breakOff();
    this.#runners.length = 0;
    this.#reject(error);
  }

  /** @returns false where the race is over */
  #leaves(runner: Runner): boolean {
    const at = this.#runners.indexOf(runner);
    if (at === -1) return false;
    this.#runners.splice(at, 1);
    this.#asking.cancellation?.delete(runner.cancellation);
    return true;
  }
}

function hedge(race: Race): void {
  race.hedge();
}
