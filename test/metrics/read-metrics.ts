export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A page of Prometheus' text format. */
export interface MetricsPage {
  readonly text: string;
  readonly samples: readonly Sample[];
  readonly samplesOf: (name: string) => readonly Sample[];
  /** The value of the one sample with this name and (at least) these labels; undefined if there is none. */
  readonly value: (name: string, labels?: Record<string, string>) => number | undefined;
}

export async function readMetrics(address: string): Promise<MetricsPage> {
  const response = await fetch(`${address}/metrics`);
  const text = await response.text();
  const lines = linesIn(text);
  // Most tests wait for one value of a long page.
  const read = new Map<string, readonly Sample[]>();
  const samplesOf = (name: string): readonly Sample[] => {
    const samples =
      read.get(name) ??
      lines.filter((line) => line.startsWith(name) && '{ '.includes(line.charAt(name.length))).map(readSample);
    read.set(name, samples);
    return samples;
  };
  return {
    text,
    get samples() {
      return lines.map(readSample);
    },
    samplesOf,
    value: (name, labels = {}) => {
      const wanted = Object.entries(labels);
      const found = samplesOf(name).filter((sample) =>
        wanted.every(([label, value]) => sample.labels[label] === value),
      );
      if (found.length > 1) throw new Error(`${name} ${JSON.stringify(labels)} stands for ${found.length} samples`);
      return found[0]?.value;
    },
  };
}

/** @param text in Prometheus' text format */
export function samplesIn(text: string): Sample[] {
  return linesIn(text).map(readSample);
}

function linesIn(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

function readSample(line: string): Sample {
  const [, name = '', inner = '', value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === '') throw new Error(`not a sample: ${line}`);
  const labels = [...inner.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g)].map(([, label = '', text = '']) => [
    label,
    text,
  ]);
  return { name, labels: Object.fromEntries(labels) as Record<string, string>, value: Number(value) };
}
