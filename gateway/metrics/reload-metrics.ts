import { Counter, Gauge, type Registry } from 'prom-client';

/** The metrics of reloads of the network files. */
export class ReloadMetrics {
  readonly #reloads: Counter<'outcome'>;
  readonly #isSuccessful: Gauge;
  readonly #loadedAt: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#reloads = new Counter({
      name: 'gatehouse_config_reloads_total',
      help: 'Reloads of the network files, by outcome: applied, or rejected (the previous configuration stays active)',
      labelNames: ['outcome'] as const,
      registers,
    });
    this.#isSuccessful = new Gauge({
      name: 'gatehouse_config_last_reload_successful',
      help: '0 if the network files were rejected when last read, else 1',
      registers,
    });
    this.#loadedAt = new Gauge({
      name: 'gatehouse_config_last_reload_success_timestamp_seconds',
      help: 'Unix time in seconds at which the active configuration was read',
      registers,
    });
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
