/** Says what is wrong with a value, or undefined where nothing is. */
export type OptionCheck = (value: unknown) => string | undefined;
export declare const isAny: OptionCheck;
export declare const isFunction: OptionCheck;
export declare const isBoolean: OptionCheck;
export declare const isString: OptionCheck;
export declare const isObject: OptionCheck;
export declare const isName: OptionCheck;
/** A duration or a size: a number above 0. */
export declare const isPositive: OptionCheck;
/** A count: a whole number of at least 1. */
export declare const isCount: OptionCheck;
export declare const isSignal: OptionCheck;
export declare function isOneOf(...allowed: readonly string[]): OptionCheck;
/**
 * Refuses a misspelt or senseless option at the call, with an OptionError that names the call, the option and what is
 * allowed. `undefined` always means: not given.
 */
export declare function checkOptions(call: string, options: unknown, checks: Readonly<Record<string, OptionCheck>>): void;
