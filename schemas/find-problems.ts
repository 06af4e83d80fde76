import type { ErrorObject } from 'ajv/dist/2020.js';
import { parseUnits } from '../gateway/network-files/options/units-option.ts';
import { strictAjv } from '../gateway/spec/strict-ajv.ts';
import { paramSchemas, resultSchemas } from './documents.ts';
import { inlineRefs } from './inline-refs.ts';
import { partsOf, resolve, typeOfRef, type JsonSchema, type Types } from './json-schema.ts';
import { isA } from './method-table.ts';
import { objectInResult } from './result-object.ts';
import type { ExampleSource, MethodSource, Sources } from './read-sources.ts';
import { countPlaces } from './count-places.ts';
import { developmentRules, methodRules, neverOpenedRules, passThroughRules, providerUrlRules } from './source-rules.ts';

/** Keys allowed beside a `$ref`: the generator reads them, validators ignore them. */
const allowedBesideRef = ['$ref', 'description', 'x-gatehouse'];

/** The errors in the hand-written files, one sentence each. */
export function findProblems(sources: Sources): string[] {
  // Each step needs the one before: malformed files cannot be resolved, unresolved references cannot be compiled.
  for (const step of [formProblems, refProblems, titleProblems, paramProblems, extensionProblems, exampleProblems]) {
    const problems = step(sources);
    if (problems.length > 0) return problems;
  }
  return [];
}

function formProblems(sources: Sources): string[] {
  const {
    methods,
    passThroughUnits: units,
    passThroughSplits: splits,
    passThroughGroups: groups,
    passThroughBlocks: blocks,
    developmentMethods,
    neverOpened,
    providerUrls,
  } = sources;
  const ajv = strictAjv();
  const fits = ajv.compile(methodRules);
  const passThroughFits = ajv.compile(passThroughRules);
  const namesFit = ajv.compile(developmentRules);
  const neverOpenedFit = ajv.compile(neverOpenedRules);
  const providersFit = ajv.compile(providerUrlRules);
  const names = methods.map((method) => method.name);
  return [
    ...methods.flatMap((method) => (fits(method) ? [] : [`${method.name}: ${formProblem(fits.errors?.[0])}`])),
    ...duplicatesIn(names).map((name) => `${name}: is defined twice`),
    ...(passThroughFits({ units, splits, groups, blocks })
      ? []
      : [`pass-through.yaml: ${formProblem(passThroughFits.errors?.[0])}`]),
    ...(namesFit(developmentMethods) ? [] : [`development.yaml: ${formProblem(namesFit.errors?.[0])}`]),
    ...(providersFit(providerUrls) ? [] : [`provider-urls.yaml: ${formProblem(providersFit.errors?.[0])}`]),
    ...providerUrls.flatMap(({ name, lists }) =>
      duplicatesIn(lists.flatMap(({ chains }) => Object.keys(chains))).map(
        (id) => `provider-urls.yaml: ${name} has chain ${id} twice`,
      ),
    ),
    ...(neverOpenedFit(neverOpened) ? [] : [`never-opened.yaml: ${formProblem(neverOpenedFit.errors?.[0])}`]),
  ];
}

function formProblem(error: ErrorObject | undefined): string {
  const unknown = (error?.params as { additionalProperty?: string } | undefined)?.additionalProperty;
  const where = error?.instancePath.slice(1) ?? '';
  if (unknown !== undefined) return `${where} has a key ${unknown} that the generator does not know`.trimStart();
  return `${where} ${error?.message ?? 'is malformed'}`.trimStart();
}

function refProblems({ methods, types, frame }: Sources): string[] {
  const inTypes = Object.entries(types).flatMap(([name, schema]) => badRefs(schema, types, [name]));
  const inMethods = methods.flatMap(({ name, params, result, errors }) => [
    ...[...params, result].flatMap(({ schema }) => badRefs(schema, types, [name])),
    ...errors
      .filter(({ $ref }) => !($ref.slice('#/components/errors/'.length) in frame.components.errors))
      .map(({ $ref }) => `${name}: ${$ref} does not exist`),
  ]);
  return [...new Set([...inTypes, ...inMethods])];
}

/** @param trail the current place, then the types on the way. Inlining would not end if a type refers to itself. */
function badRefs(schema: JsonSchema, types: Types, trail: readonly string[]): string[] {
  const inParts = partsOf(schema).flatMap((part) => badRefs(part, types, trail));
  if (schema.$ref === undefined) return inParts;
  const name = typeOfRef(schema.$ref);
  const target = types[name];
  const beside = Object.keys(schema).filter((key) => !allowedBesideRef.includes(key));
  if (beside.length > 0) return [`${trail.join(' > ')}: ${beside.join(', ')} beside ${schema.$ref} would be lost`];
  if (target === undefined) return [`${trail.join(' > ')}: ${schema.$ref} does not exist`];
  if (trail.includes(name)) return [`${trail.join(' > ')}: refers to ${name} again`];
  return [...inParts, ...badRefs(target, types, [...trail, name])];
}

function titleProblems({ types }: Sources): string[] {
  const untitled = Object.keys(types).filter((name) => types[name]?.title === undefined);
  const titles = Object.values(types).flatMap((schema) => schema.title ?? []);
  return [
    ...untitled.map((name) => `${name}: has no title, which error messages need`),
    ...duplicatesIn(titles).map((title) => `two types have the title "${title}"`),
  ];
}

function paramProblems({ methods, types }: Sources): string[] {
  return methods.flatMap(({ name, params }) => {
    const untitled = params.filter((param) => resolve(param.schema, types).title === undefined);
    const firstOptional = params.findIndex((param) => !param.required);
    const requiredAfter = firstOptional < 0 ? [] : params.slice(firstOptional).filter((param) => param.required);
    return [
      ...untitled.map((param) => `${name}: ${param.name} needs a type with a title`),
      ...requiredAfter.map((param) => `${name}: ${param.name} is required but follows an optional parameter`),
      ...duplicatesIn(params.map((param) => param.name)).map((param) => `${name}: two parameters are called ${param}`),
    ];
  });
}

function extensionProblems({ methods, types }: Sources): string[] {
  const capped = Object.entries(types).flatMap(([type, { properties = {} }]) =>
    Object.entries(properties).flatMap(([name, field]) =>
      typeof field === 'object' && field['x-gatehouse']?.gasCap === true && !isA('Quantity', field)
        ? [`${type}.${name}: gasCap must be at a quantity`]
        : [],
    ),
  );
  const inMethods = methods.flatMap((method) => {
    const {
      identity = {},
      details = {},
      tracks = {},
      cache,
      units = 1,
      splits,
      defaultsToLatest,
    } = method['x-gatehouse'] ?? {};
    const fields = types[objectInResult(method, types) ?? '']?.properties ?? {};
    const badIdentity = Object.entries(identity).filter(
      ([field, name]) =>
        !(isA('Hash', fields[field]) || isA('Quantity', fields[field])) ||
        !method.params.some((param) => param.name === name),
    );
    const badDetails = Object.entries(details).filter(
      ([field, name]) => !(field in fields) || !method.params.some((param) => param.name === name),
    );
    const counted = countPlaces(method).map(({ name }) => name);
    const uncounted = parseUnits(String(units)).terms.filter(({ count }) => !counted.includes(count));
    return [
      ...uncounted.map(({ count }) => `${method.name}: units has ${count}, which no parameter has`),
      ...badDetails.map(
        ([field]) => `${method.name}: details.${field} must be a field of the result, and name a parameter`,
      ),
      ...Object.entries(tracks)
        .filter(([, name]) => !method.params.some((param) => param.name === name))
        .map(([of]) => `${method.name}: tracks.${of} must name a parameter`),
      ...(splits !== undefined && !method.params.some((param) => param.name === splits)
        ? [`${method.name}: splits must name a parameter`]
        : []),
      ...(defaultsToLatest !== undefined && method.params.every((param) => param.name !== defaultsToLatest)
        ? [`${method.name}: defaultsToLatest must name a parameter`]
        : []),
      ...(typeof cache === 'object' && !method.params.some((param) => param.name === cache.at)
        ? [`${method.name}: cache.at must name a parameter`]
        : []),
      ...badIdentity.map(
        ([field]) => `${method.name}: identity.${field} must be a hash or quantity of the result, and name a parameter`,
      ),
    ];
  });
  const roles = methods.flatMap((method) => method['x-gatehouse']?.role ?? []);
  return [...capped, ...inMethods, ...duplicatesIn(roles).map((role) => `two methods have the role ${role}`)];
}

function exampleProblems(sources: Sources): string[] {
  const ajv = strictAjv();
  // Also compiles types that no method uses, because no example validates them.
  for (const schema of Object.values(sources.types)) ajv.compile(inlineRefs(schema, sources.types));
  const params = paramSchemas(sources);
  const results = resultSchemas(sources);
  return sources.methods.flatMap((method) => {
    const paramsFit = ajv.compile(params[method.name] ?? false);
    const resultFits = ajv.compile(results[method.name] ?? false);
    return method.examples.flatMap((example) => {
      const values = example.params.map(({ value }) => value);
      return [
        ...misnamed(method, example),
        ...(paramsFit(values) ? [] : [ajv.errorsText(paramsFit.errors, { dataVar: 'params' })]),
        ...(resultFits(example.result.value) ? [] : [ajv.errorsText(resultFits.errors, { dataVar: 'result' })]),
      ].map((what) => `${method.name}: example "${example.name}": ${what}`);
    });
  });
}

function misnamed(method: MethodSource, example: ExampleSource): string[] {
  return example.params
    .filter(({ name }, index) => name !== method.params[index]?.name)
    .map(({ name }) => `${name} is not the parameter at this place`);
}

function duplicatesIn(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
