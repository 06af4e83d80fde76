import type { UpstreamHeadMetrics } from './head-metrics.ts';
import type { SelectionMetrics } from './routing-metrics.ts';
import type { HistoryBucket } from './upstream-history.ts';

/** What an upstream reports of itself. Times are in seconds. */
export interface UpstreamMetrics extends SelectionMetrics, UpstreamHeadMetrics {
  succeeded(durationS: number): void;
  failed(failure: string, durationS: number): void;
  unusable(failure: string): void;
  /** A result that was passed on is not as the spec says. */
  deviated(method: string): void;
  /** What it did in the last minutes. */
  history(): readonly HistoryBucket[];
}

/** What the WebSockets of one network report. */
export interface SocketMetrics {
  opened(): void;
  /** @param reason from a closed list */
  closed(reason: string): void;
  /** A message came. */
  received(): void;
}
