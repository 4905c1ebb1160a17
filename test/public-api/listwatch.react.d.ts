import type { Compound, Equal, Informer, Ordered, Range, Scalar, Status } from 'listwatch'
export declare function useObject<T>(informer: Informer<T, object>, key: string | undefined): T | undefined
export declare function useObjects<T, V extends Scalar>(
  index: Ordered<T, V>,
  range?: Range<NoInfer<V>> & { readonly prefix?: NoInfer<V> & string },
): readonly T[]
export declare function useObjects<
  T,
  V extends readonly Scalar[],
  const P extends Partial<NoInfer<V>> & readonly unknown[],
>(index: Compound<T, V>, prefix: P, range?: Range<NoInfer<V[P['length']]>>): readonly T[]
export declare function useObjects<T, V extends Scalar>(index: Equal<T, V>, value: NoInfer<V>): readonly T[]
export declare function useObjects<T>(informer: Informer<T, object>): readonly T[]
export declare function useStatus<T>(informer: Informer<T, object>): Status
