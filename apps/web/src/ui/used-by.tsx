import { type ComponentType, createContext, Suspense, use } from 'react';

type Props = {
  /** Of devices, zones or scenes. */
  ids: readonly string[];
};

/** Shows what would break without them. It knows all features, so the app gives it. */
export const UsedByContext = createContext<ComponentType<Props>>(() => null);

/** In a question whether something is removed. */
export function UsedBy(props: Props) {
  const Shown = use(UsedByContext);
  return (
    <Suspense fallback={null}>
      <Shown {...props} />
    </Suspense>
  );
}

/** Nothing when there are none. */
export function UsedList({ title, names }: { title: string; names: readonly { id: string; name: string }[] }) {
  if (names.length === 0) return null;
  return (
    <div>
      <p>{title}</p>
      <ul className="list-disc pl-6">
        {names.map(({ id, name }) => (
          <li key={id} className="break-words">
            {name}
          </li>
        ))}
      </ul>
    </div>
  );
}
