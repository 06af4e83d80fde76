import type { Counter, Gauge, Registry } from 'prom-client';
import { counter, gauge } from './instruments.ts';

/** The metrics of reloads of the network files. */
export class ReloadMetrics {
  readonly #reloads: Counter<'outcome'>;
  readonly #isSuccessful: Gauge;
  readonly #loadedAt: Gauge;

  constructor(registry: Registry) {
    this.#reloads = counter(registry, 'gatehouse_config_reloads_total');
    this.#isSuccessful = gauge(registry, 'gatehouse_config_last_reload_successful');
    this.#loadedAt = gauge(registry, 'gatehouse_config_last_reload_success_timestamp_seconds');
    for (const outcome of ['applied', 'rejected']) this.#reloads.inc({ outcome }, 0);
  }

  /** @param isFirst the start of the gateway, which is not counted as a reload */
  applied(isFirst: boolean): void {
    if (!isFirst) this.#reloads.inc({ outcome: 'applied' });
    this.#isSuccessful.set(1);
    this.#loadedAt.setToCurrentTime();
  }

  rejected(): void {
    this.#reloads.inc({ outcome: 'rejected' });
    this.#isSuccessful.set(0);
  }
}
