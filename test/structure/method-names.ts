import ts from 'typescript';
import { methodNames } from '../../gateway/spec/method-facts.ts';

/** Namespaces of the spec, and those of pass-through methods and development nodes. */
const namespaces = [
  ...new Set(methodNames.map((name) => name.slice(0, name.search(/[_.]/)))),
  ...[
    'debug',
    'trace',
    'txpool',
    'ots',
    'erigon',
    'parity',
    'bor',
    'arb',
    'optimism',
    'admin',
    'evm',
    'anvil',
    'hardhat',
  ],
];

/** A name, or the start of one: code could compare it with the names of several methods. */
const name = `(?:(?:${namespaces.join('|')})_\\w*|${methodNames.filter((one) => one.includes('.')).join('|')})`;
const wholeName = new RegExp(`^${name}$`);
/** Name in a JSON text. In prose, names have no quotes. */
const quotedName = new RegExp(`"${name}"`);
const anyName = new RegExp(`(?<![a-zA-Z0-9_])${name}`);

/**
 * The methods' names in the code of a file, one line each. Comments and prose do not count: in a literal, the name must be
 * the whole text, or in double quotes. Comparisons with `nodeMethods.<role>` count too.
 * @param hasNodeTexts the file has patterns for the texts of nodes, so its regular expressions do not count
 */
export function methodNamesIn(source: ts.SourceFile, hasNodeTexts: boolean): string[] {
  const found: string[] = [];
  const see = (node: ts.Node): void => {
    if (isName(node, hasNodeTexts)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      found.push(`${source.fileName}:${line + 1}: ${node.getText()}`);
    }
    ts.forEachChild(node, see);
  };
  see(source);
  return found;
}

/** Whether a node compares something with the name of a method that the gateway sends: `nodeMethods.<role>`. */
function isComparison(node: ts.Node): boolean {
  const isRole = (one: ts.Expression): boolean =>
    (ts.isPropertyAccessExpression(one) || ts.isElementAccessExpression(one)) &&
    one.expression.getText() === 'nodeMethods';
  if (ts.isCaseClause(node)) return isRole(node.expression);
  return (
    ts.isBinaryExpression(node) &&
    /^[!=]==?$/.test(node.operatorToken.getText()) &&
    (isRole(node.left) || isRole(node.right))
  );
}

function isName(node: ts.Node, hasNodeTexts: boolean): boolean {
  if (ts.isIdentifier(node)) return wholeName.test(node.text);
  if (ts.isRegularExpressionLiteral(node)) return !hasNodeTexts && anyName.test(node.text);
  const isText = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
  if (isComparison(node)) return true;
  return isText && (wholeName.test(node.text) || quotedName.test(node.text));
}
