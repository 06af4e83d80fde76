/** Every label of the gateway's metrics, with what bounds its values: a caller must not be able to add a series. */
export const metricLabels = {
  network: 'slug of a network file',
  upstream: 'name of an upstream in a network file',
  method: 'name of a method of the network, else `other`',
  outcome: 'one of the outcomes in the meaning of the metric',
  reason: 'one of the reasons in [errors](errors.md), or in the meaning of the metric',
  class: 'one of the failure classes of an upstream response',
  kind: 'one of the kinds of `eth_subscribe`',
  event: '`started`, `won` or `lost`',
  what: '`retry` or `hedge`',
  key: 'id of a key in use; only with `METRICS_PER_KEY=on`',
  version: 'version of Gatehouse',
  node: 'version of Node',
} as const satisfies Readonly<Record<string, string>>;
