import ts from 'typescript';
import type { GatewayProgram } from './gateway-program.ts';

const folder = 'gateway/network-files';

/**
 * The options that code outside gateway/network-files/ reads, by table and name: `upstreamOptions.url`. The compiler finds
 * them: a member of `UpstreamConfig` is declared by its row. Members with the same name in other types do not count.
 */
export function usedOptions(program: GatewayProgram): Set<string> {
  const { checker } = program;
  const rows = rowsOf(program.nodesIn(`${folder}/options`));
  const names = new Set([...rows.values()].map((row) => row.split('.')[1]));
  const used = new Set<string>();
  for (const node of program.nodesIn()) {
    if (!ts.isIdentifier(node) || !names.has(node.text) || node.getSourceFile().fileName.includes(`/${folder}/`))
      continue;
    for (const declaration of memberAt(node, checker)?.declarations ?? []) {
      const row = rows.get(declaration);
      if (row !== undefined) used.add(row);
    }
  }
  return used;
}

/** The member that `object.name` or `{ name } = object` reads. */
function memberAt(name: ts.Identifier, checker: ts.TypeChecker): ts.Symbol | undefined {
  const { parent } = name;
  if (ts.isPropertyAccessExpression(parent) && parent.name === name) return checker.getSymbolAtLocation(name);
  if (!ts.isBindingElement(parent) || (parent.propertyName ?? parent.name) !== name) return undefined;
  return checker.getTypeAtLocation(parent.parent).getProperty(name.text);
}

/** The rows of the tables, each by its place in the source. */
function rowsOf(nodes: readonly ts.Node[]): Map<ts.Node, string> {
  const rows = new Map<ts.Node, string>();
  for (const node of nodes) {
    if (!ts.isVariableDeclaration(node) || !node.name.getText().endsWith('Options')) continue;
    const { name, initializer } = node;
    if (initializer === undefined || !ts.isSatisfiesExpression(initializer)) continue;
    const object = ts.isAsExpression(initializer.expression) ? initializer.expression.expression : undefined;
    if (object === undefined || !ts.isObjectLiteralExpression(object)) continue;
    for (const row of object.properties) rows.set(row, `${name.getText()}.${row.name?.getText() ?? ''}`);
  }
  return rows;
}
