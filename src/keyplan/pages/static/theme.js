// Set the chosen theme before the first paint; without a choice the page follows the system.
(() => {
  try {
    const theme = localStorage.getItem("keyplan-theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch (error) {
    console.warn("the theme cannot be stored", error.name);
  }
})();
