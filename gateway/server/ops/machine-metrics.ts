import { AggregatorRegistry, type Registry } from 'prom-client';
import type { WorkerLink } from '../../workers/worker-link.ts';
import type { WorkerCounts } from '../../metrics/metrics.ts';

const TOPIC = 'metrics';

/** The metrics page of a gateway: of this process, or of all workers together. */
export class MachineMetrics {
  readonly contentType: string;
  readonly #own: Registry;
  readonly #link: WorkerLink | undefined;
  #workers: WorkerCounts = { running: 1, ends: {} };

  /** @param link undefined: this process is the whole gateway */
  constructor(own: Registry, link: WorkerLink | undefined) {
    this.contentType = own.contentType;
    this.#own = own;
    this.#link = link;
    link?.on(TOPIC, () => own.getMetricsAsJSON());
  }

  /** As of the last page. */
  get workers(): WorkerCounts {
    return this.#workers;
  }

  async page(): Promise<string> {
    if (this.#link === undefined) return this.#own.metrics();
    this.#workers = (await this.#link.request('primary', 'workers', undefined)) as WorkerCounts;
    const others = (await this.#link.requestOthers(TOPIC, undefined)) as object[][];
    return AggregatorRegistry.aggregate([await this.#own.getMetricsAsJSON(), ...others]).metrics();
  }
}
