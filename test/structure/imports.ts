import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import ts from 'typescript';
import { packageRoot } from '../../gateway/config/package.ts';

/** One file's import of another file of this repository. Paths are from the package's root. */
export interface Import {
  readonly from: string;
  readonly to: string;
  /** The import has types only, so that the compiler removes it. */
  readonly isType: boolean;
}

/** All TypeScript files below a folder of the package. */
export function sourcesIn(folder: string): string[] {
  return readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .sort();
}

export function parse(file: string, text = readFileSync(join(packageRoot, file), 'utf8')): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
}

/** The imports of a file from this repository, without packages. */
export function importsOf(source: ts.SourceFile): Import[] {
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, isType: boolean): void => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier) || !specifier.text.startsWith('.')) return;
    const to = relative(packageRoot, resolve(packageRoot, source.fileName, '..', specifier.text));
    found.push({ from: source.fileName, to, isType });
  };
  visit(source, (node) => {
    if (ts.isImportDeclaration(node))
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], false);
  });
  // With `import { type X }`, the compiler does not remove the import, and the imported file is executed.
  return found;
}

/** The places where a file reads `process.env` or calls `process.exit`, in any spelling. */
export function processUses(source: ts.SourceFile): string[] {
  const uses: string[] = [];
  const guarded = ['env', 'exit'];
  const add = (name: string): void => {
    if (guarded.includes(name)) uses.push(`${source.fileName}: ${name}`);
  };
  visit(source, (node) => {
    if (ts.isPropertyAccessExpression(node) && isProcess(node.expression)) add(node.name.text);
    if (ts.isElementAccessExpression(node) && isProcess(node.expression)) {
      add(ts.isStringLiteralLike(node.argumentExpression) ? node.argumentExpression.text : 'env');
    }
    if (ts.isVariableDeclaration(node) && node.initializer !== undefined && isProcess(node.initializer)) {
      // `const { env } = process`, or process under another name.
      if (!ts.isObjectBindingPattern(node.name)) add('env');
      else for (const { propertyName, name } of node.name.elements) add((propertyName ?? name).getText());
    }
    if (ts.isImportDeclaration(node) && /^(node:)?process$/.test((node.moduleSpecifier as ts.StringLiteral).text)) {
      const named = node.importClause?.namedBindings;
      if (named !== undefined && ts.isNamedImports(named)) {
        for (const { propertyName, name } of named.elements) add((propertyName ?? name).text);
      } else add('env');
    }
  });
  return uses;
}

function isProcess(node: ts.Expression): boolean {
  if (ts.isIdentifier(node)) return node.text === 'process';
  return (
    ts.isPropertyAccessExpression(node) && node.name.text === 'process' && node.expression.getText() === 'globalThis'
  );
}

export function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => {
    visit(child, see);
  });
}

/** The import cycles, each once, starting with its first file by name. */
export function cyclesAmong(imports: readonly Import[]): string[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to]);
  const rings = new Set<string>();
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start !== -1) {
      const ring = path.slice(start);
      const first = ring.indexOf(ring.toSorted()[0] ?? '');
      rings.add([...ring.slice(first), ...ring.slice(0, first)].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const to of next.get(file) ?? []) walk(to, [...path, file]);
    done.add(file);
  };
  for (const file of next.keys()) walk(file, []);
  return [...rings];
}
