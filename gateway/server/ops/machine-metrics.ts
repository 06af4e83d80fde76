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
  /** Metrics of the other workers, by their ids: one that hangs has those of an earlier page, so that no counter falls. */
  readonly #others = new Map<number, object[]>();

  /** @param link undefined: this process is the whole gateway */
  constructor(own: Registry, link: WorkerLink | undefined) {
    this.contentType = own.contentType;
    this.#own = own;
    this.#link = link;
    link?.on(TOPIC, async () => [link.id, await own.getMetricsAsJSON()]);
  }

  /** Counts of workers, as of the last page. */
  get workers(): WorkerCounts {
    return this.#workers;
  }

  async page(): Promise<string> {
    if (this.#link === undefined) return this.#own.metrics();
    this.#workers = (await this.#link.request('primary', 'workers', undefined)) as WorkerCounts;
    const others = (await this.#link.requestOthers(TOPIC, undefined)) as [number, object[]][];
    for (const [worker, metrics] of others) this.#others.set(worker, metrics);
    for (const worker of this.#others.keys()) if (!this.#link.has(worker)) this.#others.delete(worker);
    return AggregatorRegistry.aggregate([await this.#own.getMetricsAsJSON(), ...this.#others.values()]).metrics();
  }
}
