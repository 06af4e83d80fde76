import type { HistoryBucket } from '../metrics/upstream-history.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import type { MarkReason, UnsupportedMethods } from './unsupported-methods.ts';

export interface MarkState {
  readonly method: string;
  readonly reason: MarkReason;
  /** Seconds until it is asked again as before. */
  readonly forS: number;
}

/** What an upstream knows of itself, for people. Nothing in it is secret. */
export interface UpstreamState {
  readonly name: string;
  /** `unused`: nothing was asked of it yet. `failing`: so it did when it was last asked. */
  readonly state: 'up' | 'unused' | 'failing' | 'other-chain';
  /** Of the last minutes, oldest first. */
  readonly history: readonly HistoryBucket[];
  /** Methods for which others are asked first. */
  readonly marks: readonly MarkState[];
}

/** The parts of an upstream that its state is made of. */
interface UpstreamParts {
  readonly name: string;
  readonly circuit: CircuitBreaker;
  readonly isOnOtherChain: boolean;
  readonly methods: UnsupportedMethods;
}

/** @param hasResponded to anything, ever */
export function upstreamStateOf(
  { name, circuit, isOnOtherChain, methods }: UpstreamParts,
  hasResponded: boolean,
  history: readonly HistoryBucket[],
  now: number,
): UpstreamState {
  const isFailing = !circuit.isClosed || (!hasResponded && history.some(({ sent }) => sent > 0));
  return {
    name,
    state: isOnOtherChain ? 'other-chain' : isFailing ? 'failing' : hasResponded ? 'up' : 'unused',
    history,
    marks: methods.marks().map(({ method, reason, deadline: until }) => {
      return { method, reason, forS: Math.max(0, Math.round((until - now) / 1000)) };
    }),
  };
}
