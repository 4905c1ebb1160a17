/** Returns why a value is wrong; undefined if it is allowed. */
export type OptionCheck = (value: unknown) => string | undefined;
export declare const isAny: OptionCheck;
export declare const isFunction: OptionCheck;
export declare const isBoolean: OptionCheck;
export declare const isString: OptionCheck;
export declare const isObject: OptionCheck;
/** The check of an option that only tests use. No message names it as allowed. */
export declare const isInternal: OptionCheck;
/** An object whose properties are data: no Map, array or instance of a class. It may be of another realm. */
export declare const isPlainObject: OptionCheck;
export declare const isName: OptionCheck;
export declare const isNames: OptionCheck;
/** A duration or a size: a number above 0. */
export declare const isPositive: OptionCheck;
/** A count: a whole number of at least 1. */
export declare const isCount: OptionCheck;
export declare const isSignal: OptionCheck;
/** The flaw names the first wrong element. */
export declare function isListOf(what: string, isOne: (value: unknown) => boolean): OptionCheck;
export declare function isOneOf(...allowed: readonly string[]): OptionCheck;
/**
 * Throws an OptionError for an unknown or a wrong option. It names the call, the option and the allowed values. An
 * option that is `undefined` counts as absent. A `call` that is a function is called for an error only.
 */
export declare function checkOptions(call: string | (() => string), options: unknown, checks: Readonly<Record<string, OptionCheck>>): void;
