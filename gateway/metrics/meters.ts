import type { HeadMeters } from './head-metrics.ts';
import type { ChoiceMeters } from './routing-metrics.ts';
import type { Slice } from './upstream-history.ts';

/** What an upstream reports of itself. Times are in seconds. */
export interface UpstreamMeters extends ChoiceMeters, HeadMeters {
  answered(took: number): void;
  failed(failure: string, took: number): void;
  unusable(failure: string): void;
  /** A result that was passed on is not as the spec says. */
  deviates(method: string): void;
  /** What it did in the last minutes. */
  history(): readonly Slice[];
}

/** What the WebSockets of one network report. */
export interface SocketMeters {
  opened(): void;
  /** @param reason from a closed list */
  closed(reason: string): void;
  /** A message came. */
  heard(): void;
}
