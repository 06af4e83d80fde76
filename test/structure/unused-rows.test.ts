import { relative } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { settingRows } from '../../gateway/config/settings.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { reasons } from '../../gateway/jsonrpc/errors.ts';
import { networkOptions, upstreamOptions } from '../../gateway/network-files/options/network-options.ts';
import { instruments } from '../../gateway/metrics/instruments.ts';
import { resultMeanings } from '../../gateway/spec/method-spec.ts';
import { nodeMethods } from '../../gateway/spec/methods.generated.ts';
import { GatewayProgram } from './gateway-program.ts';
import { usedOptions } from './option-use.ts';

const program = new GatewayProgram();
const nodes = program.nodesIn();

it('every row in errors.ts is the reason of an error that some code throws or returns', () => {
  const known: ReadonlySet<string> = new Set(reasons);
  const isReason = (node: ts.Node): node is ts.StringLiteral =>
    ts.isStringLiteral(node) &&
    known.has(node.text) &&
    program.allowedAt(node)?.every((text) => known.has(text)) === true;
  const used = new Set(nodes.filter(isReason).map(({ text }) => text));
  const unused = reasons.filter((reason) => !used.has(reason));
  expect(
    unused.map(
      (reason) => `gateway/jsonrpc/errors.ts: no code throws new RpcError('${reason}'): add it, or delete the row`,
    ),
  ).toEqual([]);
});

it('every row in settings.ts is read by some code', () => {
  // In the table itself and where settings are checked against each other, a setting has no effect.
  const isDeclaration = (node: ts.Node): boolean =>
    (ts.isVariableDeclaration(node) && node.name.getText() === 'table') ||
    (ts.isFunctionDeclaration(node) && node.name?.text === 'readSettings');
  const used = new Set(
    nodes
      .filter((node) => ts.isIdentifier(node) && !ts.findAncestor(node, isDeclaration))
      .map((node) => node.getText()),
  );
  // The packages of OpenTelemetry read theirs: test/observability/span-export.test.ts.
  const unused = settingRows.filter(({ name }) => !used.has(name) && !name.startsWith('OTEL_'));
  expect(
    unused.map(
      ({ name }) => `gateway/config/settings.ts: no code in gateway/ reads ${name}: use it, or delete the row`,
    ),
  ).toEqual([]);
});

it('every role in schemas/methods is read by some code', () => {
  const used = new Set(
    nodes.flatMap((node) =>
      ts.isPropertyAccessExpression(node) && node.expression.getText() === 'nodeMethods' ? [node.name.text] : [],
    ),
  );
  const unused = Object.entries(nodeMethods).filter(([role]) => !used.has(role));
  expect(
    unused.map(
      ([role, method]) =>
        `schemas/methods: no code in gateway/ reads nodeMethods.${role}: use it, or delete the role of ${method}`,
    ),
  ).toEqual([]);
});

it('every value of resultIs in schemas/methods is read by some code', () => {
  const used = new Set(
    nodes.flatMap((node) =>
      ts.isBinaryExpression(node) && /\bresultIs$/.test(node.left.getText()) && ts.isStringLiteral(node.right)
        ? [node.right.text]
        : [],
    ),
  );
  const unused = resultMeanings.filter((meaning) => !used.has(meaning));
  expect(
    unused.map(
      (meaning) =>
        `gateway/spec/method-spec.ts: no code in gateway/ compares resultIs with '${meaning}': use it, or delete it`,
    ),
  ).toEqual([]);
});

it('every option of a network file is read by some code', () => {
  const used = usedOptions(program);
  const rows = Object.entries({ networkOptions, upstreamOptions }).flatMap(([table, options]) =>
    Object.keys(options).map((name) => `${table}.${name}`),
  );
  const step =
    'no code uses these rows of gateway/network-files/options/network-options.ts: read the option from ' +
    'a type of network-config.ts, such as FixedUpstreamOptions, outside gateway/network-files/';
  expect(
    rows.filter((row) => !used.has(row)),
    step,
  ).toEqual([]);
});

it('every metric is recorded by some code', () => {
  const unused = program.nodesIn('gateway/metrics').flatMap((node) => {
    const isMember =
      ts.isMethodSignature(node) ||
      (ts.isMethodDeclaration(node) && ts.isClassDeclaration(node.parent)) ||
      (ts.isPropertyAssignment(node) && node.getSourceFile().fileName.endsWith('/series.ts'));
    // prom-client calls the methods in counters.ts.
    if (!isMember || node.getSourceFile().fileName.endsWith('/counters.ts') || program.isRead(node.name)) return [];
    const file = relative(packageRoot, node.getSourceFile().fileName);
    return `${file}: no code calls ${node.name.getText()}(): record the metric there, or delete it`;
  });
  expect(unused).toEqual([]);
});

it('every metric of the table is created by some code', () => {
  const created = nodes.filter(ts.isStringLiteral);
  const names = new Set(created.map(({ text }) => text));
  const unused = Object.keys(instruments).filter((name) => !names.has(name));
  expect(
    unused.map((name) => `gateway/metrics/instruments.ts: no code creates ${name}: create it, or delete the row`),
  ).toEqual([]);
});
