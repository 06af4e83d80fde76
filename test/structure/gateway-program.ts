import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { packageRoot } from '../../gateway/config/package.ts';
import { sourcesIn, visit } from './imports.ts';

/** The sources of gateway/ with their types. Packages are left out, because reading their types takes most of the time. */
export class GatewayProgram {
  readonly #service: ts.LanguageService;
  readonly #program: ts.Program;

  /** @param edit changes the text of a file */
  constructor(edit: (text: string, file: string) => string = (text) => text) {
    const files = sourcesIn('gateway').map((file) => join(packageRoot, file));
    const readable = new Set(files);
    const isReadable = (file: string): boolean => readable.has(file) || file.includes('/typescript/lib/lib.');
    this.#service = ts.createLanguageService({
      getScriptFileNames: () => files,
      getScriptVersion: () => '1',
      getScriptSnapshot: (file) =>
        isReadable(file)
          ? ts.ScriptSnapshot.fromString(edit(readFileSync(file, 'utf8'), relative(packageRoot, file)))
          : undefined,
      getCurrentDirectory: () => packageRoot,
      getCompilationSettings: () => ({
        ...{ target: ts.ScriptTarget.ES2023, lib: ['lib.es2023.d.ts'], types: [], strict: true },
        ...{ module: ts.ModuleKind.NodeNext, allowImportingTsExtensions: true, noEmit: true },
      }),
      getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
      fileExists: (file) => isReadable(file) && ts.sys.fileExists(file),
      readFile: (file) => (isReadable(file) ? ts.sys.readFile(file) : undefined),
    });
    const program = this.#service.getProgram();
    if (program === undefined) throw new Error('gateway/ cannot be read');
    this.#program = program;
  }

  get checker(): ts.TypeChecker {
    return this.#program.getTypeChecker();
  }

  /** @param folder of gateway/, or all of it */
  nodesIn(folder = 'gateway'): ts.Node[] {
    const nodes: ts.Node[] = [];
    for (const file of sourcesIn(folder)) {
      const source = this.#program.getSourceFile(join(packageRoot, file));
      if (source === undefined) throw new Error(`${file} is not in the program`);
      visit(source, (node) => nodes.push(node));
    }
    return nodes;
  }

  /** What the compiler reports about a file. Imports from packages are errors too. */
  errorsIn(file: string): string[] {
    return this.#service
      .getSemanticDiagnostics(join(packageRoot, file))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  }

  /** Whether a member of a class or an interface is read anywhere, as `object.member`. */
  isRead(member: ts.PropertyName): boolean {
    const uses = this.#service.getReferencesAtPosition(member.getSourceFile().fileName, member.getStart()) ?? [];
    return uses.some(
      ({ fileName, textSpan: { start } }) => this.#program.getSourceFile(fileName)?.text.charAt(start - 1) === '.',
    );
  }

  /** The texts that the place of a string literal allows; undefined: the place does not limit them. */
  allowedAt(literal: ts.StringLiteralLike): readonly string[] | undefined {
    const type = this.checker.getContextualType(literal);
    const types = type?.isUnion() === true ? type.types : [type];
    const texts = types.map((each) => (each?.isStringLiteral() === true ? each.value : undefined));
    return texts.includes(undefined) ? undefined : (texts as string[]);
  }
}
