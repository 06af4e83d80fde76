import type { UpstreamHeadMetrics } from './head-metrics.ts';
import type { SelectionMetrics } from './routing-metrics.ts';
import type { Availability, HistoryBucket } from './upstream-history.ts';

/** The metrics of one upstream. Times are in seconds. */
export interface UpstreamMetrics extends SelectionMetrics, UpstreamHeadMetrics {
  succeeded(durationS: number): void;
  failed(failure: string, durationS: number): void;
  unusable(failure: string): void;
  /** A forwarded result deviates from the spec. */
  deviated(method: string): void;
  /** The requests of the last ten minutes, oldest first. */
  history(): readonly HistoryBucket[];
  /** Of the last 24 hours. */
  availability(): Availability | undefined;
}

/** The metrics of the WebSockets of one network. */
export interface SocketMetrics {
  opened(): void;
  /** @param reason from a closed list */
  closed(reason: string): void;
  /** A message was received. */
  received(): void;
}
