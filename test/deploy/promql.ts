import { parser } from '@prometheus-io/lezer-promql';

/** The metrics, labels and values in a PromQL expression. */
export interface Named {
  readonly metrics: readonly string[];
  /** Labels in matchers, groupings and joins. */
  readonly labels: readonly string[];
  /** Matchers with `=` or `=~`, and the values between bars. */
  readonly wanted: readonly { readonly label: string; readonly values: readonly string[] }[];
}

/**
 * Parses an expression of Prometheus or Grafana.
 * @param expression may have Grafana's variables for durations and texts
 * @throws if it is not valid PromQL
 */
export function readPromql(expression: string): Named {
  const text = expression.replaceAll('$__rate_interval', '5m');
  const metrics: string[] = [];
  const labels: string[] = [];
  const wanted: { label: string; values: string[] }[] = [];
  parser.parse(text).iterate({
    enter({ name, from, to, node }) {
      if (node.type.isError) throw new Error(`no PromQL at ${from}: ${text}`);
      const token = text.slice(from, to);
      if (name === 'Identifier' && node.parent?.name === 'VectorSelector') metrics.push(token);
      if (name === 'LabelName') labels.push(token);
      const matcher = /^(\w+)=~?"([^"]*)"$/.exec(token);
      if (name === 'UnquotedLabelMatcher' && matcher !== null) {
        wanted.push({ label: matcher[1] ?? '', values: (matcher[2] ?? '').split('|') });
      }
    },
  });
  return { metrics, labels, wanted };
}
