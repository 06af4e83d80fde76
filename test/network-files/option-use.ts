import { join } from 'node:path';
import ts from 'typescript';
import { packageRoot } from '../../gateway/config/package.ts';
import { sourcesIn } from '../structure/imports.ts';

const tablePath = 'gateway/network-files/options/network-options.ts';

/**
 * The options that code outside gateway/network-files/ reads, by table and name: `upstreamOptions.url`. The compiler finds
 * them: a member of `UpstreamConfig` is declared by its row. Members with the same name in other types do not count.
 */
export function usedOptions(): Set<string> {
  const program = ts.createProgram({
    rootNames: sourcesIn('gateway').map((file) => join(packageRoot, file)),
    // Types of packages do not matter here.
    options: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.NodeNext, strict: true, types: [], noEmit: true },
    host: withoutPackages(),
  });
  const checker = program.getTypeChecker();
  const rows = rowsOf(program.getSourceFile(join(packageRoot, tablePath)));
  const names = new Set([...rows.values()].map((row) => row.split('.')[1]));
  const used = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && names.has(node.text)) {
      for (const declaration of memberAt(node, checker)?.declarations ?? []) {
        const row = rows.get(declaration);
        if (row !== undefined) used.add(row);
      }
    }
    ts.forEachChild(node, visit);
  };
  for (const file of program.getSourceFiles()) {
    if (!file.isDeclarationFile && !file.fileName.includes('/gateway/network-files/')) visit(file);
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
function rowsOf(table: ts.SourceFile | undefined): Map<ts.Node, string> {
  const rows = new Map<ts.Node, string>();
  for (const statement of table?.statements ?? []) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name, initializer } of statement.declarationList.declarations) {
      const isTable = initializer !== undefined && ts.isSatisfiesExpression(initializer);
      const object =
        isTable && ts.isAsExpression(initializer.expression) ? initializer.expression.expression : undefined;
      if (object === undefined || !ts.isObjectLiteralExpression(object) || !name.getText().endsWith('Options'))
        continue;
      for (const row of object.properties) rows.set(row, `${name.getText()}.${row.name?.getText() ?? ''}`);
    }
  }
  return rows;
}

/** Finds only files of the gateway: reading the types of all packages takes most of the time. */
function withoutPackages(): ts.CompilerHost {
  const host = ts.createCompilerHost({});
  host.resolveModuleNameLiterals = (literals, containingFile) =>
    literals.map(({ text }) => {
      if (!text.startsWith('.')) return { resolvedModule: undefined };
      const resolvedFileName = join(containingFile, '..', text);
      return { resolvedModule: { resolvedFileName, extension: ts.Extension.Ts, isExternalLibraryImport: false } };
    });
  return host;
}
