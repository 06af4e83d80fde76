import type { Metric, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

interface Value {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/**
 * Metrics for the path that every call takes. A child of prom-client's looks its labels up again each time it is told
 * something (0.3 µs for a counter, 0.7 for a histogram, thrice that in a busy process, and a call tells six); one of
 * these is a number that is added to, and prom-client's registry reads it when it is asked for the page.
 */
abstract class LabelledMetric<Child> {
  readonly name: string;
  readonly help: string;
  readonly aggregator = 'sum';
  abstract readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labelNames: readonly string[];
  readonly #children = new Map<string, { readonly labels: Labels; readonly child: Child }>();

  constructor({ name, help, labelNames }: MetricOptions, page: Registry) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    // What it asks for is `get`; its types name its own classes.
    page.registerMetric(this as unknown as Metric);
  }

  /** The same for the same values. @param values in the order of the label names */
  labels(...values: readonly string[]): Child {
    const key = values.join('\n');
    const known = this.#children.get(key);
    if (known !== undefined) return known.child;
    const labels = Object.fromEntries(this.labelNames.map((name, index) => [name, values[index] ?? '']));
    const child = this.create();
    this.#children.set(key, { labels, child });
    return child;
  }

  /** Forgets a child: it is told of no more, whoever still has it. */
  remove(labels: Labels): void {
    this.#children.delete(this.labelNames.map((name) => labels[name] ?? '').join('\n'));
  }

  get(): Promise<object & { readonly values: readonly Value[] }> {
    const { name, help, type, aggregator } = this;
    const values = [...this.#children.values()].flatMap(({ labels, child }) => this.read(child, labels));
    return Promise.resolve({ name, help, type, aggregator, values });
  }

  protected abstract create(): Child;
  protected abstract read(child: Child, labels: Labels): Value[];
}

export class CounterValue {
  value = 0;

  add(change: number): void {
    this.value += change;
  }
}

/** Those that never counted anything are not shown. */
export class CounterMetric extends LabelledMetric<CounterValue> {
  readonly type: 'counter' | 'gauge' = 'counter';

  protected create(): CounterValue {
    return new CounterValue();
  }

  protected read({ value }: CounterValue, labels: Labels): Value[] {
    return value === 0 ? [] : [{ value, labels }];
  }
}

export class GaugeMetric extends CounterMetric {
  override readonly type = 'gauge';

  protected override read({ value }: CounterValue, labels: Labels): Value[] {
    return [{ value, labels }];
  }
}

export class HistogramValue {
  readonly counts: Float64Array;
  sum = 0;
  readonly #bounds: readonly number[];

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(seconds: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] as number)) at++;
    this.counts[at] = (this.counts[at] as number) + 1;
    this.sum += seconds;
  }
}

/** As counters. */
export class HistogramMetric extends LabelledMetric<HistogramValue> {
  readonly type = 'histogram';
  readonly #bounds: readonly number[];

  /** @param bounds of the buckets, ascending, without the last */
  constructor(options: MetricOptions & { readonly bounds: readonly number[] }, page: Registry) {
    super(options, page);
    this.#bounds = options.bounds;
  }

  protected create(): HistogramValue {
    return new HistogramValue(this.#bounds);
  }

  protected read({ counts, sum }: HistogramValue, labels: Labels): Value[] {
    if (counts.every((count) => count === 0)) return [];
    let value = 0;
    const buckets = [...this.#bounds, '+Inf'].map((le, index) => {
      value += counts[index] as number;
      return { metricName: `${this.name}_bucket`, labels: { ...labels, le }, value };
    });
    const whole = { metricName: `${this.name}_sum`, labels, value: sum };
    return [...buckets, whole, { metricName: `${this.name}_count`, labels, value }];
  }
}
