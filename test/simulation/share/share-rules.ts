/**
 * The rules that a schedule checks. `true state`: a follower shows a state that the source had. `order`: it never
 * shows an older one, except after `EPOCH_CHANGED`. `epoch`: another history of the source is `EPOCH_CHANGED` for
 * followers. `new`: a follower is synced when it is as new as a list. `wait`: a wait for a mark ends when the
 * follower includes it. `answers`: indexes and reads agree. `fold`: handlers receive what the follower shows.
 * `calm`: without a cause, followers do not list, and objects are packed once. `bounded`: a watch that is not read
 * has a bounded number of bytes on its way. `status`: a closed port is `failed` with `NOT_FOUND`. `access`: after
 * lost access, no later follower has the objects. `live`: everything converges, whatever other followers do.
 * `released`: nothing is left when all followers are gone. `warning`: there is no warning.
 */
export type ShareRule =
  | 'true state'
  | 'order'
  | 'epoch'
  | 'new'
  | 'wait'
  | 'answers'
  | 'fold'
  | 'calm'
  | 'bounded'
  | 'status'
  | 'access'
  | 'live'
  | 'released'
  | 'warning'
  | 'crash'
